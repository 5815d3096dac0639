// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
	files "github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden/kinds"
)

// TestPassing checks each form of a fulfilled expectation.
func TestPassing(t *testing.T) {
	results := kinds.Run(t, kinds.Find(t, controlplane.New(gardener.Generator{}), "testdata/passing"))
	if summary := golden.Summarize(results); !summary.OK() || summary.Passed < 8 {
		t.Errorf("%s", kinds.Written(t, results))
	}
}

// TestOlderGardener checks that a profile for older versions of Gardener is tested as the older contract says.
func TestOlderGardener(t *testing.T) {
	results := kinds.Run(t, kinds.Find(t, controlplane.New(gardener.Generator{}), "testdata/older"))
	if summary := golden.Summarize(results); !summary.OK() || summary.Passed != 1 {
		t.Errorf("%s", kinds.Written(t, results))
	}
}

// TestFailing checks the messages of unfulfilled expectations.
func TestFailing(t *testing.T) {
	kinds.Failing(t, controlplane.New(gardener.Generator{}))
}

// TestWrong checks the findings about invalid tables.
func TestWrong(t *testing.T) {
	kinds.Wrong(t, controlplane.New(nil))
}

// TestGoldens checks the forms of golden files in copies: they are reported, written, and pass afterwards.
func TestGoldens(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	origin := filepath.Join(origin, "testdata", "goldens")
	if err := os.CopyFS("goldens", os.DirFS(origin)); err != nil {
		t.Fatal(err)
	}
	found := kinds.Find(t, controlplane.New(gardener.Generator{}), "goldens")
	results := kinds.Run(t, found)
	before := kinds.Written(t, results)
	updated, err := golden.Update(t.Context(), results, found.Stale)
	if err != nil {
		t.Fatal(err)
	}
	found = kinds.Find(t, controlplane.New(gardener.Generator{}), "goldens")
	results = kinds.Run(t, found)
	if again, err := golden.Update(t.Context(), results, found.Stale); err != nil || len(again.Written)+len(again.Removed) > 0 {
		t.Errorf("a second time is written %v, removed %v: %v", again.Written, again.Removed, err)
	}
	report := before + "\nwritten:\n" + strings.Join(updated.Written, "\n") + "\n\nremoved:\n" + strings.Join(updated.Removed, "\n") +
		"\n\nthen:\n" + kinds.Written(t, results)
	files.Compare(t, filepath.Join(origin, "..", "goldens.txt"), report)
	for _, path := range updated.Written {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files.Compare(t, filepath.Join(origin, "..", "goldens-written", strings.TrimPrefix(path, "goldens/")), string(got))
	}
}

// origin is the folder of the package.
var origin = func() string {
	path, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return path
}()

// TestInterrupted checks that cases that did not run are not reported.
func TestInterrupted(t *testing.T) {
	found := kinds.Find(t, controlplane.New(gardener.Generator{}), "testdata/passing")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := golden.Prepare(ctx, found.Cases); err == nil {
		t.Error("Prepare succeeds after its context ended, want an error")
	}
}

// FuzzTable checks that any table gives cases with unique names, or findings with a position.
func FuzzTable(f *testing.F) {
	kinds.FuzzTable(f, func() golden.Tester { return controlplane.New(nil, "profile.yaml") })
}
