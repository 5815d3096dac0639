// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"io/fs"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// contents returns the contents of all files below a folder by their paths, without those of git.
func contents(folder string) map[string]string {
	GinkgoHelper()
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
	Expect(err).NotTo(HaveOccurred(), "reading %s", folder)
	return out
}

// changes returns the paths of files that are new, changed or missing.
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
