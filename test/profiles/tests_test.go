// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
)

// TestTests checks that the tests of the example profiles pass with graft test, that each profile has some, and that
// each golden file belongs to a case.
func TestTests(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	folder := filepath.Join("example", "profiles")
	tests, err := golden.Find([]golden.Tester{controlplane.New(gardener.Generator{})}, folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := golden.Prepare(t.Context(), tests.Cases); err != nil {
		t.Fatal(err)
	}
	results, err := golden.Run(t.Context(), tests.Cases, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if !golden.Summarize(results).OK() || len(tests.Stale) > 0 {
		var out strings.Builder
		if err := (golden.Style{}).Write(&out, results, 0); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%sstale: %v", out.String(), tests.Stale)
	}
	for _, profile := range must(filepath.Glob(filepath.Join(folder, "*", "profile.yaml"))) {
		found := false
		for _, c := range tests.Cases {
			found = found || strings.HasPrefix(c.Suite, filepath.Dir(profile)+string(filepath.Separator))
		}
		if !found {
			t.Errorf("%s has no tests", profile)
		}
	}
}

func must(paths []string, err error) []string {
	if err != nil {
		panic(err)
	}
	return paths
}
