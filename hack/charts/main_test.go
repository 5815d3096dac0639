// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestCurrent(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			want, err := generate(root, name)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(mustRead(t, "charts/"+name+"/values.schema.json"), want) {
				t.Error("values.schema.json is not current: run `make generate`")
			}
		})
	}
}

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

// TestMistakes checks the messages of mistakes in hack/charts/schema.
func TestMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		values, said, want string
	}{
		"a list that shows nothing": {values: "a: []\n", said: "{}", want: "a: values.yaml does not show its items"},
		"a default without a type":  {values: "a: null\n", said: "{}", want: "a: a default of type !!null"},
		"a value that is not there": {values: "a: b\n", said: "b: {}\n", want: "hack/charts/schema describes [b]"},
		"a name that is not there":  {values: "a: b\n", said: "a: {$use: x}\n", want: "a: common.yaml has no x"},
	} {
		t.Run(name, func(t *testing.T) {
			var document yaml.Node
			if err := yaml.Unmarshal([]byte(test.values), &document); err != nil {
				t.Fatal(err)
			}
			g := &generator{used: map[string]bool{}}
			if err := yaml.Unmarshal([]byte(test.said), &g.said); err != nil {
				t.Fatal(err)
			}
			_, err := g.value(document.Content[0], "")
			if err == nil {
				err = g.unused()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestVersions checks that charts have the version of the programs.
func TestVersions(t *testing.T) {
	version := strings.TrimSpace(string(mustRead(t, "VERSION")))
	for _, name := range names(t) {
		if meta := load(t, name).Metadata; "v"+meta.Version != version || meta.AppVersion != version {
			t.Errorf("%s is of %s for %s, but VERSION says %s", name, meta.Version, meta.AppVersion, version)
		}
	}
}
