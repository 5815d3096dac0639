// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestDescribed checks that each top-level value in values.yaml, or its parts, has a description.
func TestDescribed(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			var schema struct {
				Properties map[string]struct {
					Description string
					Properties  map[string]any
				}
			}
			if err := json.Unmarshal(mustRead(t, "charts/"+name+"/values.schema.json"), &schema); err != nil {
				t.Fatal(err)
			}
			for key, property := range schema.Properties {
				// These are called as Kubernetes calls them.
				known := map[string]bool{"imagePullPolicy": true, "resources": true, "nodeSelector": true, "tolerations": true, "affinity": true, "priorityClassName": true}
				if property.Description == "" && len(property.Properties) == 0 && !known[key] && key != "podAnnotations" && key != "annotations" {
					t.Errorf("%s has no comment", key)
				}
			}
		})
	}
}

// TestWrong checks the message of each mistake in testdata/wrong.
func TestWrong(t *testing.T) {
	for _, name := range names(t) {
		data, err := os.ReadFile(filepath.Join("testdata", "wrong", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var mistakes []struct {
			Name, Want string
			Values     chartutil.Values
		}
		if err := sigsyaml.Unmarshal(data, &mistakes); err != nil {
			t.Fatal(err)
		}
		loaded := load(t, name)
		for _, test := range mistakes {
			t.Run(name+"/"+test.Name, func(t *testing.T) {
				_, err := render(loaded, test.Values)
				if err == nil || !strings.Contains(err.Error(), test.Want) {
					t.Errorf("got %v, want an error with %q", err, test.Want)
				}
			})
		}
	}
}

// TestExamples checks that every example profile can be a chart value, as a document and as a text.
func TestExamples(t *testing.T) {
	loaded := load(t, "graft-profiles")
	for value, pattern := range map[string]string{
		"providerProfiles": "example/profiles/*/profile.yaml", "networkProfiles": "example/network/*.yaml", "interpreterProfiles": "pkg/interpreter/gardener/*.yaml",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var document map[string]any
				if err := sigsyaml.Unmarshal(text, &document); err != nil {
					t.Fatal(err)
				}
				for shape, written := range map[string]any{"document": document, "text": string(text)} {
					if manifests, err := render(loaded, chartutil.Values{value: map[string]any{"it": written}}); err != nil || len(manifests) != 1 {
						t.Errorf("as a %s: %d manifests, %v", shape, len(manifests), err)
					}
				}
			})
		}
	}
}

// TestVersions checks that charts have the version of the programs.
func TestVersions(t *testing.T) {
	version := strings.TrimSpace(string(mustRead(t, "VERSION")))
	for _, name := range names(t) {
		if meta := load(t, name).Metadata; "v"+meta.Version != version || meta.AppVersion != version {
			t.Errorf("%s has the versions %s and %s, want %s", name, meta.Version, meta.AppVersion, version)
		}
	}
}
