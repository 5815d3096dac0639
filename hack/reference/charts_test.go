// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestChartSchemas checks that the schemas of all charts are current.
func TestChartSchemas(t *testing.T) {
	for _, chart := range glob(t, "charts/*/Chart.yaml") {
		folder := filepath.Dir(chart)
		want, err := encode(chartSchema(root, filepath.Base(folder)))
		if err != nil {
			t.Fatal(err)
		}
		if got := must(os.ReadFile(filepath.Join(folder, "values.schema.json"))); !bytes.Equal(got, want) {
			t.Errorf("values.schema.json of %s is not current: run `make generate`", folder)
		}
	}
}

// TestChartMistakes checks the messages of mistakes in hack/charts/schema.
func TestChartMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		values, said, want string
	}{
		"an empty list without items": {values: "a: []\n", said: "{}", want: "a: values.yaml does not show its items"},
		"a default without a type":    {values: "a: null\n", said: "{}", want: "a: a default of type !!null"},
		"a value that is not there":   {values: "a: b\n", said: "b: {}\n", want: "hack/charts/schema describes [b]"},
		"a name that is not there":    {values: "a: b\n", said: "a: {$use: x}\n", want: "a: common.yaml has no x"},
	} {
		t.Run(name, func(t *testing.T) {
			var document yaml.Node
			if err := yaml.Unmarshal([]byte(test.values), &document); err != nil {
				t.Fatal(err)
			}
			g := &chartValues{used: map[string]bool{}}
			if err := yaml.Unmarshal([]byte(test.said), &g.said); err != nil {
				t.Fatal(err)
			}
			g.value(document.Content[0], "")
			if g.checkUnused(); g.err == nil || !strings.Contains(g.err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", g.err, test.want)
			}
		})
	}
}
