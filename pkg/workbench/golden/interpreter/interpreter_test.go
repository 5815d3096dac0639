// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
	files "github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden/kinds"
)

// TestPassing checks each form of a fulfilled expectation.
func TestPassing(t *testing.T) {
	results := kinds.Run(t, kinds.Find(t, interpreter.New(), "testdata/passing"))
	if summary := golden.Summarize(results); !summary.OK() || summary.Passed < 15 {
		t.Errorf("%s", kinds.Written(t, results))
	}
}

// TestExample checks that the example passes.
func TestExample(t *testing.T) {
	results := kinds.Run(t, kinds.Find(t, interpreter.New(), "../../../../example/interpreter"))
	if summary := golden.Summarize(results); !summary.OK() {
		t.Errorf("%s", kinds.Written(t, results))
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
	updated, err := golden.Update(t.Context(), results, found.Stale)
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
	if again, err := golden.Update(t.Context(), results, found.Stale); err != nil || len(again.Written)+len(again.Removed) > 0 {
		t.Errorf("a second time is written %v, removed %v: %v", again.Written, again.Removed, err)
	}
	files.Compare(t, filepath.Join(origin, "testdata", "goldens.txt"), report+"\nthen:\n"+kinds.Written(t, results))
}

// FuzzTable checks that any table gives cases with unique names, or findings with a position.
func FuzzTable(f *testing.F) {
	kinds.FuzzTable(f, func() golden.Tester { return interpreter.New("profile.yaml") })
}
