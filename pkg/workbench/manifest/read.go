// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Stdin is the path of standard input.
const Stdin = "-"

// maximumSize limits the size of one file in bytes: a dump of a large seed has about 100 MiB.
const maximumSize = 512 << 20

// ErrTwiceStdin means that standard input is named more than once.
var ErrTwiceStdin = errors.New("standard input (-) can be read only once")

// Read reads the objects of files and folders in the order of the paths; "-" is standard input. It reads folders
// recursively, their files that end in .yaml, .yml or .json, sorted. The error is source.Findings if something is not
// an object. Links in folders must stay inside and lead to regular files; named files may be of any type.
func Read(paths []string, stdin io.Reader) ([]Object, error) {
	var (
		objects  []Object
		findings source.Findings
		twice    bool
	)
	for _, path := range paths {
		if path == Stdin {
			if twice {
				return nil, ErrTwiceStdin
			}
			twice = true
		}
		files, err := filesAt(path, stdin)
		if err != nil {
			return nil, err
		}
		found, wrong := parseAll(files)
		objects, findings = append(objects, found...), append(findings, wrong...)
	}
	return objects, findings.Err()
}

// ReadWith reads the objects of a file or folder, as Read does, with a function that reads each file.
func ReadWith(path string, read func(path string) ([]byte, error)) ([]Object, error) {
	files, err := filesBelow(path, read)
	if err != nil {
		return nil, err
	}
	objects, findings := parseAll(files)
	return objects, findings.Err()
}

func parseAll(files []source.File) (objects []Object, findings source.Findings) {
	for _, file := range files {
		found, wrong := Parse(file)
		objects, findings = append(objects, found...), append(findings, wrong...)
	}
	return objects, findings
}

func filesAt(path string, stdin io.Reader) ([]source.File, error) {
	if path == Stdin {
		data, err := io.ReadAll(io.LimitReader(stdin, maximumSize))
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return []source.File{{Name: "standard input", Data: data}}, nil
	}
	return filesBelow(path, func(name string) ([]byte, error) {
		if name == path {
			return disk.ReadStream(path, maximumSize)
		}
		inside, err := filepath.Rel(path, name)
		if err != nil {
			return nil, err
		}
		return disk.ReadInside(path, inside, maximumSize)
	})
}

// filesBelow reads the file at a path, or the manifests in the folder there and in those below it.
func filesBelow(path string, read func(name string) ([]byte, error)) (files []source.File, err error) {
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir() || name != path && !isManifest(name):
			return nil
		}
		data, err := read(name)
		files = append(files, source.File{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return files, nil
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
