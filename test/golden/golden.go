// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package golden helps tests that apply profiles to objects and compare the results with files. Programs must not
// import it. Start reading at Compile and Compare.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

var update = flag.Bool("update", false, "write what the tests got as what they want")

// Updating reports whether tests must write their results. Compare does this by itself.
func Updating() bool { return *update }

// Compare checks that got equals the content of the file. With -update it writes the file.
func Compare(t testing.TB, path, got string) {
	t.Helper()
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s; -update writes it (-want +got):\n%s", path, diff)
	}
}

// Read reads a profile with the files that it names. Messages contain the path.
func Read(t testing.TB, path string) source.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return profile.Attach(source.File{Name: path, Data: data}, func(attached string) ([]byte, error) {
		return os.ReadFile(filepath.Join(filepath.Dir(path), attached))
	})
}

// Load reads profiles. It fails the test for an invalid profile.
func Load(t testing.TB, paths ...string) []*profile.Document {
	t.Helper()
	var files []source.File
	for _, path := range paths {
		files = append(files, Read(t, path))
	}
	documents, findings := profile.Load(files...)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return documents
}

// Compile compiles profiles. It fails the test for an invalid profile.
func Compile(t testing.TB, options compiler.Options, paths ...string) *mutation.Program {
	t.Helper()
	program, err := compiler.Compile(Load(t, paths...), options)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Apply returns the object with an RFC 6902 patch applied, as an API server does, or unchanged without a patch.
func Apply(t testing.TB, object, patch []byte) []byte {
	t.Helper()
	if len(patch) == 0 {
		return object
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := decoded.Apply(object)
	if err != nil {
		t.Fatalf("the patch cannot be applied: %v\n%s", err, patch)
	}
	return patched
}
