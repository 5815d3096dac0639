// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/docs/schema"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Files are the files of a new profile, by their paths with slashes.
type Files map[string][]byte

// The files that every new profile has.
const (
	ProfileFile = "profile.yaml"
	ReadmeFile  = "README.md"
	TestsFile   = "tests/shoots.yaml"
	// SchemaFolder has the schemas that the first lines of profile and tests name.
	SchemaFolder = ".schema"
)

// ErrExists means that the folder for a new profile has files already.
var ErrExists = errors.New("is not empty")

// Check compiles the profile among the files. The error is source.Findings.
func (f Files) Check() (*mutation.Program, error) {
	file := profile.Attach(source.File{Name: ProfileFile, Data: f[ProfileFile]}, func(path string) ([]byte, error) {
		data, ok := f[path]
		if !ok {
			return nil, os.ErrNotExist
		}
		return data, nil
	})
	documents, findings := profile.Load(file)
	if err := findings.Err(); err != nil {
		return nil, err
	}
	return mutation.Compile(documents, mutation.Options{})
}

// schemas adds the schemas that the first lines of the documents name.
func (f Files) schemas() {
	for _, kind := range schema.Kinds() {
		if kind.Name == "ProviderProfile" || kind.Name == "ProviderProfileTest" {
			f[SchemaFolder+"/"+kind.File] = kind.Schema
		}
	}
}

// Names returns the paths, sorted.
func (f Files) Names() []string { return slices.Sorted(maps.Keys(f)) }

// Write writes the files to a folder. It first writes them to a temporary sibling and then moves them, so that nothing
// is partly written if the context ends. A non-empty folder is an error, which wraps ErrExists, unless force permits to
// replace files with the same names; other files stay.
func (f Files) Write(ctx context.Context, folder string, force bool) (err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking into the folder: %w", err)
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("%s %w", folder, ErrExists)
	}
	parent := filepath.Dir(filepath.Clean(folder))
	if err := makeFolder(parent); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	beside, err := os.MkdirTemp(parent, ".graft-init-")
	if err != nil {
		return fmt.Errorf("making a folder to write into: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	if err := f.writeInto(ctx, beside); err != nil {
		return err
	}
	return f.move(beside, folder, len(entries) > 0)
}

func (f Files) writeInto(ctx context.Context, folder string) error {
	for _, name := range f.Names() {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.WriteFile(path, f[name], 0o644); err != nil { //nolint:gosec // what others read, too
			return fmt.Errorf("writing a file: %w", err)
		}
	}
	return nil
}

// move puts the folder in its place, or the files one by one into a folder that has some.
func (f Files) move(from, to string, occupied bool) error {
	if !occupied {
		if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replacing the empty folder: %w", err)
		}
		if err := os.Chmod(from, 0o755); err != nil { //nolint:gosec // what others read, too
			return fmt.Errorf("opening the folder: %w", err)
		}
		if err := os.Rename(from, to); err != nil {
			return fmt.Errorf("moving the folder to its place: %w", err)
		}
		return nil
	}
	for _, name := range f.Names() {
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.Rename(filepath.Join(from, filepath.FromSlash(name)), path); err != nil {
			return fmt.Errorf("moving a file to its place: %w", err)
		}
	}
	return nil
}

// makeFolder makes a folder with those above it.
func makeFolder(path string) error {
	return os.MkdirAll(path, 0o755) //nolint:gosec // what others read, too
}
