// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package folder reads profiles, and the files that they name, from files and folders. Package pkg/profile
// interprets them, and package pkg/disk checks which files may be read. Start reading at Read.
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

// Read reads files, and the *.yaml and *.yml files of folders without their subfolders, sorted by path. A file
// that a profile names, such as its image vector, becomes an attachment of it. In a folder, files without documents
// for the programs are ignored (profile.IsOther), and unreadable files have a Problem. Links in folders must stay inside. Read
// fails for a path that does not exist, or is neither a folder nor a regular file, but not for an empty folder.
func Read(paths ...string) ([]source.File, error) {
	files, _, err := read(paths, disk.ReadFile)
	return files, err
}

// ReadNamed works like Read for paths on a command line, which may be pipes such as /dev/stdin. It fails like Read.
func ReadNamed(paths ...string) ([]source.File, error) {
	files, _, err := read(paths, disk.ReadStream)
	return files, err
}

// Ignored returns the files that Read ignores, without attachments. It fails like Read.
func Ignored(paths ...string) ([]string, error) {
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
	resolve := func(f source.File, path string) string {
		return filepath.Join(filepath.Dir(f.Name), filepath.FromSlash(path))
	}
	all := profile.WithoutAttachments(slices.Concat(files, others), resolve)
	for _, file := range all {
		if slices.ContainsFunc(others, func(other source.File) bool { return other.Name == file.Name }) {
			left = append(left, file.Name)
		}
	}
	return slices.DeleteFunc(all, func(f source.File) bool { return slices.Contains(left, f.Name) }), left, nil
}

// Empty returns the paths that have no document among the files.
func Empty(paths, files []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(files, func(file string) bool {
			return filepath.Clean(file) == filepath.Clean(path) || filepath.Dir(file) == filepath.Clean(path)
		})
	})
}

// Attach reads the files that a profile names, relative to its folder.
func Attach(file source.File) source.File {
	return profile.Attach(file, func(path string) ([]byte, error) {
		return disk.ReadInside(filepath.Dir(file.Name), path, disk.DocumentSize)
	})
}

// readPath reads the file at a path, or the files in a folder.
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

// versionLink is the symbolic link that kubelet switches to replace all files of a mounted ConfigMap at once.
const versionLink = "..data"

// readVersion repeats read, at most five times, until kubelet has not replaced the files during the read. All files
// are then from one version.
func readVersion(folder string, read func() ([]source.File, error)) (files []source.File, err error) {
	version := func() string {
		target, _ := os.Readlink(filepath.Join(folder, versionLink)) // other folders have no such link
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

// readFolder reads the files in a folder. It skips names that start with a dot, where the kubelet keeps the
// versions of a mounted ConfigMap.
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

// IsYAML reports whether a file name, or a ConfigMap's key, has an extension of YAML.
func IsYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
