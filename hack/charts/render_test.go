// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

const root = "../.."

// names returns the names of all charts.
func names(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob(root + "/charts/*/Chart.yaml")
	if err != nil || len(folders) < 4 {
		t.Fatalf("found %v (%v)", folders, err)
	}
	var out []string
	for _, folder := range folders {
		out = append(out, filepath.Base(filepath.Dir(folder)))
	}
	return out
}

// cases are the values with which a chart is rendered, by the names of their files.
func cases(t *testing.T, chart string) map[string]chartutil.Values {
	t.Helper()
	files, err := filepath.Glob("values/" + chart + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values for %s (%v)", chart, err)
	}
	out := map[string]chartutil.Values{}
	for _, file := range files {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = values
	}
	return out
}

func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	loaded, err := loader.LoadDir(filepath.Join(root, "charts", name))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// content matches a document with a line that is neither blank nor a comment.
var content = regexp.MustCompile(`(?m)^[^#\s-]`)

// render checks the values and returns the manifests, like helm install before it sends them.
func render(loaded *chart.Chart, values chartutil.Values) ([]string, error) {
	options := chartutil.ReleaseOptions{Name: loaded.Name(), Namespace: "garden", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	var out []string
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		for _, manifest := range releaseutil.SplitManifests(text) {
			if content.MatchString(manifest) { // others are comments alone
				out = append(out, manifest)
			}
		}
	}
	return out, nil
}

// mustRead reads a file of the repository.
func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
