// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
	files "github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden/kinds"
)

// TestPassing checks each form of a fulfilled expectation, and the coverage of the rules.
func TestPassing(t *testing.T) {
	results := kinds.Run(t, kinds.Find(t, interpreter.New(), "testdata/passing"))
	if summary := golden.Summarize(results); !summary.OK() || summary.Passed < 15 {
		t.Errorf("%s", kinds.Written(t, results))
	}
	var out bytes.Buffer
	if err := golden.Cover(kinds.Run(t, kinds.Find(t, interpreter.New(), "testdata/passing/table.yaml"))).Write(&out); err != nil {
		t.Fatal(err)
	}
	files.Compare(t, "testdata/passing/rules.txt", out.String())
}

// TestExample checks that the example passes and covers each of its rules.
func TestExample(t *testing.T) {
	results := kinds.Run(t, kinds.Find(t, interpreter.New(), "../../../../example/interpreter"))
	if summary := golden.Summarize(results); !summary.OK() {
		t.Errorf("%s", kinds.Written(t, results))
	}
	coverage := golden.Cover(results)
	for _, rule := range coverage.Rules {
		if !rule.Applied {
			t.Errorf("%s:%d: %s is never applied", rule.At.File, rule.At.Line, rule.Name)
		}
	}
	if len(coverage.Rules) < 20 {
		t.Errorf("want at least 20 rules, got %d", len(coverage.Rules))
	}
}

// TestFailing checks the messages of unfulfilled expectations.
func TestFailing(t *testing.T) {
	kinds.Failing(t, interpreter.New())
}

// TestWrong checks the findings about invalid tables.
func TestWrong(t *testing.T) {
	kinds.Wrong(t, interpreter.New())
}

// TestGoldens checks golden files in copies: they are reported, written, and pass afterwards.
func TestGoldens(t *testing.T) {
	origin, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.CopyFS("goldens", os.DirFS(filepath.Join(origin, "testdata", "goldens"))); err != nil {
		t.Fatal(err)
	}
	profile, err := os.ReadFile(filepath.Join(origin, "testdata", "profile.yaml"))
	if err == nil {
		err = os.WriteFile("goldens/profile.yaml", profile, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := kinds.Find(t, interpreter.New(), "goldens")
	results := kinds.Run(t, found)
	report := kinds.Written(t, results)
	updated, err := golden.Update(t.Context(), results, found.Stale, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range updated.Written {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		report += "\n" + path + "\n" + string(text)
	}
	found = kinds.Find(t, interpreter.New(), "goldens")
	results = kinds.Run(t, found)
	if again, err := golden.Update(t.Context(), results, found.Stale, true); err != nil || len(again.Written)+len(again.Removed) > 0 {
		t.Errorf("a second time is written %v, removed %v: %v", again.Written, again.Removed, err)
	}
	files.Compare(t, filepath.Join(origin, "testdata", "goldens.txt"), report+"\nthen:\n"+kinds.Written(t, results))
}

// FuzzTable checks that any table gives cases with unique names, or findings with a position.
func FuzzTable(f *testing.F) {
	kinds.FuzzTable(f, func() golden.Kind { return interpreter.New("profile.yaml") })
}
