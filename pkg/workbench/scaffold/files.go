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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
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

// check compiles the profile among the files. The error is source.Findings.
func (f Files) check() error {
	documents, findings := profile.Load(source.File{Name: ProfileFile, Data: f[ProfileFile]})
	if err := findings.Err(); err != nil {
		return err
	}
	_, err := compiler.Compile(documents, compiler.Options{})
	return err
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

// Write writes the files to a folder. A non-empty folder is an error, which wraps ErrExists, unless force permits to
// replace files with the same names; other files stay.
func (f Files) Write(ctx context.Context, folder string, force bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking into the folder: %w", err)
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("%s %w", folder, ErrExists)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, name := range f.Names() {
		if err := whole.WriteDeep(filepath.Join(folder, filepath.FromSlash(name)), f[name]); err != nil {
			return fmt.Errorf("writing the profile: %w", err)
		}
	}
	return nil
}
