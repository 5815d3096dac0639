// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// contents are all files below a folder, but for those of git.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		out[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// changes are the names of files that are new, changed or gone.
func changes(before, after map[string]string) []string {
	var out []string
	for name, content := range after {
		if old, existed := before[name]; !existed || old != content {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, exists := after[name]; !exists {
			out = append(out, name)
		}
	}
	return out
}

func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return append([]string{}, out...)
}
