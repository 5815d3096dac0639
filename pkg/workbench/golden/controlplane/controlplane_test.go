// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene/gardener"
	files "github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// stopped is a clock that stands.
func stopped() time.Time { return time.Time{} }

// find finds the tests below paths; what is wrong with them is fatal.
func find(t *testing.T, paths ...string) *golden.Found {
	t.Helper()
	found, err := golden.Find([]golden.Kind{controlplane.New(gardener.Generator{})}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func run(t *testing.T, found *golden.Found) []golden.Result {
	t.Helper()
	if err := golden.Prepare(t.Context(), found.Cases); err != nil {
		t.Fatal(err)
	}
	results, err := golden.Run(t.Context(), found.Cases, golden.Options{Workers: 2, Now: stopped})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func written(t *testing.T, results []golden.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := (golden.Style{Verbose: true}).Write(&out, results, 0); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPassing holds each form of an expectation, where it is met.
func TestPassing(t *testing.T) {
	results := run(t, find(t, "testdata/passing"))
	if summary := golden.Summarize(results); !summary.OK() || summary.Passed < 8 {
		t.Errorf("%s", written(t, results))
	}
}

// TestFailing holds what is said where expectations are not met.
func TestFailing(t *testing.T) {
	results := run(t, find(t, "testdata/failing"))
	files.Compare(t, "testdata/failing/want.txt", written(t, results))
	for i := range results {
		if results[i].OK() {
			t.Errorf("%s passes", results[i].Case.ID())
		}
	}
}

// TestWrong holds what is said of tables that are none.
func TestWrong(t *testing.T) {
	entries, err := os.ReadDir("testdata/wrong")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		path := filepath.Join("testdata", "wrong", entry.Name())
		if filepath.Ext(path) == ".txt" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			found, err := golden.Find([]golden.Kind{controlplane.New(nil)}, path)
			if err == nil {
				t.Fatalf("%d cases are found", len(found.Cases))
			}
			files.Compare(t, strings.TrimSuffix(path, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

// TestFolders holds the forms of golden files, in copies: what is wrong with them, that they are written, and that they pass then.
func TestFolders(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	origin := filepath.Join(origin, "testdata", "folders")
	if err := os.CopyFS("folders", os.DirFS(origin)); err != nil {
		t.Fatal(err)
	}
	found := find(t, "folders")
	results := run(t, found)
	before := written(t, results)
	updated, err := golden.Update(t.Context(), results, found.Stale, true)
	if err != nil {
		t.Fatal(err)
	}
	found = find(t, "folders")
	results = run(t, found)
	if again, err := golden.Update(t.Context(), results, found.Stale, true); err != nil || len(again.Written)+len(again.Removed) > 0 {
		t.Errorf("a second time is written %v, removed %v: %v", again.Written, again.Removed, err)
	}
	report := before + "\nwritten:\n" + strings.Join(updated.Written, "\n") + "\n\nremoved:\n" + strings.Join(updated.Removed, "\n") +
		"\n\nthen:\n" + written(t, results)
	files.Compare(t, filepath.Join(origin, "..", "folders.txt"), report)
	for _, path := range updated.Written {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files.Compare(t, filepath.Join(origin, "..", "folders-written", strings.TrimPrefix(path, "folders/")), string(got))
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

// TestCoverage holds what is said of rules that no case shows.
func TestCoverage(t *testing.T) {
	var out bytes.Buffer
	coverage := golden.Cover(run(t, find(t, "testdata/passing")))
	if err := coverage.Write(&out); err != nil {
		t.Fatal(err)
	}
	files.Compare(t, "testdata/passing/rules.txt", out.String())
	if diff := cmp.Diff(100*float64(coverage.Applied)/float64(len(coverage.Rules)), coverage.Percent()); diff != "" {
		t.Error(diff)
	}
}

// TestInterrupted holds that nothing is said of cases that were not run.
func TestInterrupted(t *testing.T) {
	found := find(t, "testdata/passing")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := golden.Prepare(ctx, found.Cases); err == nil {
		t.Error("what nobody waits for is prepared")
	}
}
