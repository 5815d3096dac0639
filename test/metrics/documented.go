// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package metrics helps tests of metrics: it compares the tables of the documentation with the metrics of programs, and
// reads values. Start reading at Documented and Count.
package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Documented checks that the table of a page has each metric with the prefix that the Go files of folders define, once,
// and no others. A name may begin with "graft_" + server, which means any server.
func Documented(t *testing.T, page, prefix string, folders ...string) {
	t.Helper()
	var there []string
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", folder, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				for _, suffix := range found(t, file, `"(?:`+prefix+`|graft_" \+ server \+ "_)([a-z_]+)"`) {
					there = append(there, prefix+suffix)
				}
			}
		}
	}
	documented := found(t, page, "(?m)^- `("+prefix+"[a-z_]+)")
	slices.Sort(there)
	slices.Sort(documented)
	if diff := cmp.Diff(there, documented); diff != "" || len(there) == 0 {
		t.Errorf("%s (-there +documented):\n%s", page, diff)
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
