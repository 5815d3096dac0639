// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package kinds helps the tests of the kinds of profile tests (pkg/workbench/golden): it finds and runs tests in
// testdata, and compares their messages with files. Programs must not import it. Start reading at Find, Failing, Wrong
// and FuzzTable.
package kinds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	files "github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// Find finds the tests of a kind below paths. It fails the test for an invalid one.
func Find(t testing.TB, tester golden.Tester, paths ...string) *golden.Found {
	t.Helper()
	found, err := golden.Find([]golden.Tester{tester}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Run runs tests. The results have no times, so that reports can be compared.
func Run(t testing.TB, found *golden.Found) []golden.Result {
	t.Helper()
	if err := golden.Prepare(t.Context(), found.Cases); err != nil {
		t.Fatal(err)
	}
	results, err := golden.Run(t.Context(), found.Cases, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for i := range results {
		results[i].Took = 0
	}
	return results
}

// Written returns the report on results, including those that pass.
func Written(t testing.TB, results []golden.Result) string {
	t.Helper()
	var out strings.Builder
	if err := (golden.Style{Verbose: true}).Write(&out, results, 0); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Failing checks that no case in testdata/failing passes, and compares the messages.
func Failing(t *testing.T, tester golden.Tester) {
	t.Helper()
	results := Run(t, Find(t, tester, "testdata/failing"))
	files.Compare(t, "testdata/failing/want.txt", Written(t, results))
	for i := range results {
		if results[i].OK() {
			t.Errorf("%s passes", results[i].Case.ID())
		}
	}
}

// Wrong compares the errors of each invalid table and folder in testdata/wrong.
func Wrong(t *testing.T, tester golden.Tester) {
	t.Helper()
	entries, err := os.ReadDir("testdata/wrong")
	if err != nil || len(entries) == 0 {
		t.Fatalf("nothing is wrong: %v", err)
	}
	for _, entry := range entries {
		path := filepath.Join("testdata", "wrong", entry.Name())
		if filepath.Ext(path) == ".txt" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			found, err := golden.Find([]golden.Tester{tester}, path)
			if err == nil {
				t.Fatalf("%d cases are found", len(found.Cases))
			}
			files.Compare(t, strings.TrimSuffix(path, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

// FuzzTable checks that any text of a table becomes cases with different names, or findings with positions, as graft
// lint reports them. The seeds are the tables in testdata and tables with duplicate keys. fresh returns a new Tester
// for each text.
func FuzzTable(f *testing.F, fresh func() golden.Tester) {
	f.Helper()
	files.Seeds(f, "testdata/*/table.yaml", "testdata/wrong/*.yaml", "../../lint/testdata/duplicates/*ProfileTest.yaml")
	f.Add([]byte(`{"apiVersion":"graft.provider.extensions.gardener.cloud/v1alpha1","profiles":["a"],` +
		`"profiles":["a","b"],` +
		`"cases":[{"name":"a","expect":{"rules":{"r":"applied","r":"changed"}},"expect":{"flags":{"a":["b"],` +
		`"a":["b","c"]}}}],"cases":[{"name":"b"},{"name":"c"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, _ := source.Parse(source.File{Name: "fuzz/table.yaml", Data: data})
		for _, node := range nodes {
			placed(t, fresh().Table(node))
		}
	})
}

// placed checks that a table gives findings, or cases with a name and a position each.
func placed(t *testing.T, suite *golden.Suite) {
	t.Helper()
	if len(suite.Findings) == 0 && len(suite.Cases) == 0 {
		t.Error("neither a case nor a finding")
	}
	for _, finding := range suite.Findings {
		if finding.File == "" || finding.Line == 0 || finding.Message == "" {
			t.Errorf("a finding without a place or a message: %s", finding)
		}
	}
	seen := map[string]bool{}
	for _, c := range suite.Cases {
		if len(suite.Findings) == 0 && (seen[c.ID()] || c.Position.Line == 0) {
			t.Errorf("two cases %s, or one without a place", c.ID())
		}
		seen[c.ID()] = true
	}
}
