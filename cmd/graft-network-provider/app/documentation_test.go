// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMetricsAreDocumented holds the table of metrics against those that there are.
func TestMetricsAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	var there []string
	for _, folder := range []string{".", filepath.Join(root, "pkg", "network", "server"), filepath.Join(root, "pkg", "network", "reload")} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				there = append(there, found(t, file, `"(graft_network_[a-z_]+)"`)...)
			}
		}
	}
	documented := found(t, filepath.Join(root, "docs", "usage", "network-provider.md"), "(?m)^\\| `(graft_network_[a-z_]+)")
	slices.Sort(there)
	slices.Sort(documented)
	if diff := cmp.Diff(there, documented); diff != "" || len(there) == 0 {
		t.Errorf("docs/usage/network-provider.md (-there +documented):\n%s", diff)
	}
}

func found(t *testing.T, path, expression string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
		all = append(all, string(match[1]))
	}
	return all
}
