// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Input is a file with documents.
type Input struct {
	source.File

	// Found means that the file was found in a folder and may not belong to Graft.
	Found bool
	// Unread says that it was not read, as it does not end in .yaml or .yml, although it may have a document of Graft.
	Unread bool
}

// standardInput is the name of the standard input in messages.
const standardInput = "stdin"

// Read reads files, folders with all below them, and the standard input for "-", each once. In folders it takes *.yaml and *.yml; entries that
// begin with a dot are left out.
func Read(paths []string, stdin io.Reader) ([]Input, error) {
	var inputs []Input
	seen := map[string]bool{}
	for _, path := range paths {
		if path == "-" {
			if seen[path] {
				continue
			}
			seen[path] = true
			data, err := io.ReadAll(io.LimitReader(stdin, maximumSize))
			if err != nil {
				return nil, fmt.Errorf("reading the standard input: %w", err)
			}
			inputs = append(inputs, Input{File: source.File{Name: standardInput, Data: data}})
			continue
		}
		names, isFolder, err := filesBelow(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, cause(err))
		}
		for _, name := range names {
			if seen[filepath.Clean(name)] {
				continue
			}
			seen[filepath.Clean(name)] = true
			if isFolder && !folder.IsYAML(name) {
				if mentionsUs(beginning(path, name)) {
					inputs = append(inputs, Input{File: source.File{Name: name}, Found: true, Unread: true})
				}
				continue
			}
			data, err := readFile(path, name, isFolder)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, cause(err))
			}
			inputs = append(inputs, Input{File: folder.Attach(source.File{Name: name, Data: data}), Found: isFolder})
		}
	}
	return inputs, nil
}

// maximumSize limits the size of one file in bytes. Documents of Graft are smaller; other YAML files in a folder may be
// larger.
const maximumSize = 64 << 20

// beginning returns the beginning of a file in a folder, long enough to identify its kind, or nothing for an unreadable
// file.
func beginning(path, name string) []byte {
	const enough = 64 << 10
	inside, err := filepath.Rel(path, name)
	if err != nil {
		return nil
	}
	data, err := disk.Beginning(path, inside, enough)
	if err != nil {
		return nil
	}
	return data
}

// readFile reads the file at a path, or one in the folder there.
func readFile(path, name string, isFolder bool) ([]byte, error) {
	if !isFolder {
		return disk.ReadStream(path, maximumSize)
	}
	inside, err := filepath.Rel(path, name)
	if err != nil {
		return nil, err
	}
	return disk.ReadInside(path, inside, maximumSize)
}

// cause returns an error without the path, which the message already contains.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// filesBelow returns the file itself, or the files in a folder and its subfolders.
func filesBelow(path string) (names []string, isFolder bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, false, err
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(entry.Name(), ".") && name != path; {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case hidden || !entry.Type().IsRegular() && !folder.IsYAML(name) || entry.IsDir() || filepath.Ext(name) == ".md":
			return nil
		}
		names = append(names, name)
		return nil
	})
	return names, true, err
}
