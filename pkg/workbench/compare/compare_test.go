// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// generated are the control planes of all tests: two versions in four variants.
var generated = sync.OnceValues(func() ([]*snapshot.Snapshot, error) {
	m := compare.Matrix{
		Base: snapshot.Options{Provider: "acme"}, Versions: []string{"1.32", "1.34"}, Variants: []string{"plain", "ha", "ipv6", "hibernated"},
	}
	return m.Snapshots(context.Background(), gardener.Generator{})
})

func snapshots(t testing.TB) []*snapshot.Snapshot {
	t.Helper()
	all, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// run compares the versions in a folder of testdata. The flags of the profiles are no real ones.
func run(t testing.TB, folder string) *compare.Result {
	t.Helper()
	options := compare.Options{Snapshots: snapshots(t), OldName: "old.yaml", NewName: "new.yaml"}
	none, err := semver.NewConstraint("< 1.31") // of which no flags are known
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []struct {
		name  string
		into  *compare.Side
		files *[]string
	}{{"old.yaml", &options.Old, &options.OldFiles}, {"new.yaml", &options.New, &options.NewFiles}} {
		path := filepath.Join(folder, side.name)
		program := golden.Compile(t, compiler.Options{Kubernetes: none}, path)
		for _, s := range options.Snapshots {
			s.Invent(program.Lookups()...)
		}
		*side.into, *side.files = compare.CompiledSide{Program: program}, []string{path}
	}
	result, err := compare.Run(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestRun compares the difference between old.yaml and new.yaml in each folder of testdata with want.text.
func TestRun(t *testing.T) {
	folders, err := filepath.Glob("testdata/*/old.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatal("no test cases found", err)
	}
	for _, old := range folders {
		folder := filepath.Dir(old)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var out strings.Builder
			if err := run(t, folder).Write(&out, format(t, "text"), render.Style{}); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join(folder, "want.text"), out.String())
			for _, secret := range []string{"sample-user", "sample-password"} {
				if strings.Contains(out.String(), secret) {
					t.Errorf("%s is shown", secret)
				}
			}
		})
	}
}

func TestFormats(t *testing.T) {
	result := run(t, "testdata/for-whom")
	for _, f := range render.Differences() {
		t.Run(f.Name, func(t *testing.T) {
			var out strings.Builder
			if err := result.Write(&out, f, render.Style{}); err != nil {
				t.Fatal(err)
			}
			if f.Name == "html" {
				// Package report tests the looks of a page.
				for _, want := range []string{"in 1 of 8 shoots", "Pod template changes", "NEW new.yaml:14"} {
					if !strings.Contains(out.String(), want) {
						t.Errorf("the page does not contain %s", want)
					}
				}
				return
			}
			golden.Compare(t, filepath.Join("testdata", "formats", f.Name), out.String())
		})
	}
}

func format(t *testing.T, name string) render.Format {
	t.Helper()
	f, err := render.Find(render.Differences(), name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRunEndsWithItsContext checks that an interrupted comparison returns no result.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	program := compare.CompiledSide{Program: golden.Compile(t, compiler.Options{}, "testdata/gone/old.yaml")}
	result, err := compare.Run(ctx, compare.Options{Old: program, New: program, Snapshots: snapshots(t), Parallel: 1, Progress: func(int, int) { cancel() }})
	if !errors.Is(err, context.Canceled) || result != nil {
		t.Errorf("got %v, %v", result, err)
	}
}

func TestProgress(t *testing.T) {
	program := compare.CompiledSide{Program: golden.Compile(t, compiler.Options{}, "testdata/gone/old.yaml")}
	var seen []int
	_, err := compare.Run(t.Context(), compare.Options{
		Old: program, New: program, Snapshots: snapshots(t)[:3], Progress: func(done, of int) { seen = append(seen, done*10+of) },
	})
	if diff := cmp.Diff([]int{13, 23, 33}, seen); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestMatrix(t *testing.T) {
	for _, c := range []struct {
		name   string
		matrix compare.Matrix
		// want are the titles of the first options, and count how many there are.
		want  string
		count int
		err   error
	}{
		{name: "chooses variants by default", want: "1.31.14; 1.31.14, ha; 1.31.14, ipv6", count: 20},
		{name: "chosen versions and variants", matrix: compare.Matrix{Versions: []string{"1.33"}, Variants: []string{"plain", "ipv6"}}, want: "1.33.6; 1.33.6, ipv6", count: 2},
		{name: "a whole version", matrix: compare.Matrix{Versions: []string{"1.33.1"}, Variants: []string{"plain"}}, want: "1.33.1", count: 1},
		{name: "one comparison for each provider", matrix: compare.Matrix{Providers: []string{"a", "b"}, Versions: []string{"1.33"}, Variants: []string{"plain"}}, want: "1.33.6; 1.33.6", count: 2},
		{name: "adds the garden", matrix: compare.Matrix{Garden: true, Versions: []string{"1.33"}, Variants: []string{"plain"}}, want: "1.33.6; 1.33.6, garden", count: 2},
		{name: "no such variant", matrix: compare.Matrix{Variants: []string{"hibernate"}}, err: compare.ErrVariant},
		{name: "refuses joined variants", matrix: compare.Matrix{Variants: []string{"ha+ipv6"}}, err: compare.ErrVariant},
		{name: "no such version", matrix: compare.Matrix{Versions: []string{"1.12"}}, err: snapshot.ErrVersion},
	} {
		t.Run(c.name, func(t *testing.T) {
			options, err := c.matrix.Options()
			if !errors.Is(err, c.err) {
				t.Fatalf("got error %v, want %v", err, c.err)
			}
			if len(options) != c.count {
				t.Errorf("there are %d options, want %d", len(options), c.count)
			}
			var titles []string
			for _, o := range options {
				titles = append(titles, o.Title())
			}
			if got := strings.Join(titles[:min(3, len(titles))], "; "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestVersions checks that control planes can be generated for each listed version, and for no other minor version that
// Graft knows.
func TestVersions(t *testing.T) {
	known := map[string]bool{}
	for _, version := range snapshot.Versions() {
		if message := generate(t, version); message != "" {
			t.Errorf("%s: %s", version, message)
		}
		known[version[:4]] = true
	}
	for _, minor := range kubeflags.Versions() {
		if message := generate(t, minor.String()+".0"); (message == "") != known[minor.String()] {
			t.Errorf("%s can be generated: %v, and is compared: %v", minor, message == "", known[minor.String()])
		}
	}
}

// generate generates a control plane and returns the error message.
func generate(t *testing.T, version string) string {
	t.Helper()
	planes, err := gardener.Generator{}.Generate(t.Context(), snapshot.Options{Kubernetes: version, Workerless: true})
	if err != nil {
		t.Fatal(err)
	}
	return planes[0].Error
}

// TestNothingStale checks that testdata has no unused files.
func TestNothingStale(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join("testdata", entry.Name(), "old.yaml")); err != nil && entry.Name() != "formats" {
			t.Errorf("testdata/%s is no case", entry.Name())
		}
	}
}
