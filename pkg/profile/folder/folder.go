// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package folder reads profiles, and what they name beside them, from files and folders. What they say is pkg/profile's business, and
// which files may be read pkg/disk's. Enter at Read.
package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Read reads files, and the *.yaml and *.yml files of folders (not of folders in them), in the order of the paths. What a
// profile names as a file beside it, such as its image vector, is attached to it and no file of its own. A file of a folder in which no
// document has an apiVersion or a kind is left alone; one that cannot be read has a Problem. Links in folders must stay inside. A path that
// does not exist, or is neither a folder nor a regular file, is an error; an empty folder is not.
func Read(paths ...string) ([]source.File, error) {
	files, _, err := read(paths, disk.ReadFile)
	return files, err
}

// ReadNamed is Read for paths that somebody names on a command line: pipes such as /dev/stdin are among them.
func ReadNamed(paths ...string) ([]source.File, error) {
	files, _, err := read(paths, disk.ReadStream)
	return files, err
}

// LeftAlone are the files that Read leaves alone, without those that are attached to a profile.
func LeftAlone(paths ...string) ([]string, error) {
	_, left, err := read(paths, disk.ReadFile)
	return left, err
}

// reader reads the file at a path, up to a number of bytes.
type reader func(path string, limit int64) ([]byte, error)

func read(paths []string, named reader) (files []source.File, left []string, err error) {
	var others []source.File
	for _, path := range paths {
		found, err := readPath(path, named)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range found {
			if file.Name != path && profile.IsOther(file) {
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
	return profile.Attach(file, func(path string) ([]byte, error) {
		return disk.ReadInside(filepath.Dir(file.Name), path, disk.DocumentSize)
	})
}

// readPath reads the file at a path, or the files in the folder there.
func readPath(path string, named reader) ([]source.File, error) {
	return readVersion(filepath.Dir(path), func() ([]source.File, error) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("finding profiles: %w", err)
		case info.IsDir():
			return readVersion(path, func() ([]source.File, error) { return readFolder(path) })
		}
		data, err := named(path, disk.DocumentSize)
		if err != nil {
			return nil, fmt.Errorf("reading a profile: %w", err)
		}
		return []source.File{Attach(source.File{Name: path, Data: data})}, nil
	})
}

// versionLink is the link by which the kubelet replaces all files of a mounted ConfigMap at once.
const versionLink = "..data"

// readVersion reads from a folder again, a few times at most, while the kubelet replaces its files: what is read together is of one version.
func readVersion(folder string, read func() ([]source.File, error)) (files []source.File, err error) {
	version := func() string {
		target, _ := os.Readlink(filepath.Join(folder, versionLink)) // other folders have none
		return target
	}
	for range 5 {
		before := version()
		if files, err = read(); version() == before {
			return files, err
		}
	}
	return nil, fmt.Errorf("reading %s: its files were replaced each time while they were read", folder)
}

// readFolder reads the files in a folder. Entries that begin with a dot are left out: the kubelet keeps the versions of a mounted
// ConfigMap in such.
func readFolder(path string) ([]source.File, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("finding profiles: %w", err)
	}
	var files []source.File
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || !IsYAML(entry.Name()) {
			continue
		}
		file := source.File{Name: filepath.Join(path, entry.Name())}
		if file.Data, err = disk.ReadInside(path, entry.Name(), disk.DocumentSize); err != nil {
			file.Problem = err.Error()
		}
		files = append(files, Attach(file))
	}
	return files, nil
}

// IsYAML says whether a file, or a key of a ConfigMap, is one that may hold profiles.
func IsYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
