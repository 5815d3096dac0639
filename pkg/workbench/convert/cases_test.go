// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestCases checks the proposals for single differences: each folder has before.yaml, after.yaml and want.yaml.
func TestCases(t *testing.T) {
	folders, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			before, after := read(t, filepath.Join(folder, "before.yaml")), read(t, filepath.Join(folder, "after.yaml"))
			proposal, err := convert.Propose(t.Context(), before, after, convert.Options{Name: "acme", Provider: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join(folder, "want.yaml"), string(proposal.Profile))
			if strings.HasPrefix(filepath.Base(folder), "not-") != (len(proposal.Missed) > 0) {
				t.Errorf("missed: %v", proposal.Missed)
			}
		})
	}
}

func read(t *testing.T, file string) []manifest.Object {
	t.Helper()
	objects, err := manifest.Read([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestNothing checks that fields of the API server cause no proposal.
func TestNothing(t *testing.T) {
	before, after := read(t, "testdata/nothing/before.yaml"), read(t, "testdata/nothing/after.yaml")
	_, err := convert.Propose(t.Context(), before, after, convert.Options{Name: "acme", Provider: "acme"})
	if !errors.Is(err, convert.ErrNoDifference) {
		t.Errorf("got %v", err)
	}
}
