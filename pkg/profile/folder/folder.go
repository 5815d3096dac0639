// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package folder reads profiles, and what they name beside them, from files and folders. It is the only package of the ground
// that opens files; what they say is pkg/profile's business. Enter at Read.
package folder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Read reads files, and the *.yaml and *.yml files of folders (not of folders in them), in the order of the paths. What a
// profile names as a file beside it, such as its image vector, is attached to it and no file of its own. A file of a folder in which no
// document has an apiVersion or a kind is left alone. A path that does not exist is an error; an empty folder is not.
func Read(paths ...string) ([]source.File, error) {
	files, _, err := read(paths)
	return files, err
}

// LeftAlone are the files that Read leaves alone, without those that are attached to a profile.
func LeftAlone(paths ...string) ([]string, error) {
	_, left, err := read(paths)
	return left, err
}

func read(paths []string) (files []source.File, left []string, err error) {
	var others []source.File
	for _, path := range paths {
		names, err := filesAt(path)
		if err != nil {
			return nil, nil, fmt.Errorf("finding profiles: %w", err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, nil, fmt.Errorf("reading a profile: %w", err)
			}
			file := Attach(source.File{Name: name, Data: data})
			if name != path && profile.IsOther(file) {
				others = append(others, file)
			} else {
				files = append(files, file)
			}
		}
	}
	beside := func(f source.File, path string) string {
		return filepath.Join(filepath.Dir(f.Name), filepath.FromSlash(path))
	}
	all := profile.WithoutAttachments(slices.Concat(files, others), beside)
	for _, file := range all {
		if slices.ContainsFunc(others, func(other source.File) bool { return other.Name == file.Name }) {
			left = append(left, file.Name)
		}
	}
	return slices.DeleteFunc(all, func(f source.File) bool { return slices.Contains(left, f.Name) }), left, nil
}

// Empty are the paths without a document: neither themselves nor the files in their folders are among the files of documents.
func Empty(paths, files []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(files, func(file string) bool {
			return filepath.Clean(file) == filepath.Clean(path) || filepath.Dir(file) == filepath.Clean(path)
		})
	})
}

// Attach reads the files that a profile names, in the folder of the profile.
func Attach(file source.File) source.File {
	beside := os.DirFS(filepath.Dir(file.Name))
	return profile.Attach(file, func(path string) ([]byte, error) { return fs.ReadFile(beside, path) })
}

// filesAt are the files at a path. Entries that begin with a dot are left out: the kubelet keeps the versions of a mounted
// ConfigMap in such.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && IsYAML(entry.Name()) {
			names = append(names, filepath.Join(path, entry.Name()))
		}
	}
	return names, nil
}

// IsYAML says whether a file, or a key of a ConfigMap, is one that may hold profiles.
func IsYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
