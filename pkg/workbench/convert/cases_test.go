// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestCases holds what is proposed for single differences: each folder has before.yaml and after.yaml, or several such pairs as
// before-NAME.yaml and after-NAME.yaml, and known.yaml with what is known of the control plane.
func TestCases(t *testing.T) {
	folders, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("there are no cases (%v)", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			pairs, known := pairsIn(t, folder)
			cases, err := convert.Cases(pairs, known)
			if err != nil {
				t.Fatal(err)
			}
			proposal, err := convert.Propose(t.Context(), cases, convert.Options{Name: "acme", Provider: "acme"})
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

func pairsIn(t *testing.T, folder string) ([]convert.Pair, []manifest.Object) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "before*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing before (%v)", err)
	}
	var pairs []convert.Pair
	for _, file := range files {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".yaml"), "before")
		pairs = append(pairs, convert.Pair{
			Name: strings.TrimPrefix(name, "-"), Before: read(t, file), After: read(t, filepath.Join(folder, "after"+name+".yaml")),
		})
	}
	known := filepath.Join(folder, "known.yaml")
	if _, err := os.Stat(known); err != nil {
		return pairs, nil
	}
	return pairs, read(t, known)
}

func read(t *testing.T, file string) []manifest.Object {
	t.Helper()
	objects, err := manifest.Read([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestNothing holds that there is nothing to propose where only what the API server keeps for itself differs.
func TestNothing(t *testing.T) {
	before := read(t, "testdata/nothing/before.yaml")
	after := read(t, "testdata/nothing/after.yaml")
	_, err := convert.Propose(t.Context(), []convert.Case{{Before: before, After: after}}, convert.Options{Name: "acme", Provider: "acme"})
	if !errors.Is(err, convert.ErrNoDifference) {
		t.Errorf("got %v", err)
	}
}
