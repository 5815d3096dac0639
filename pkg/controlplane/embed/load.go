// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrNoProfiles means that there is no profile to be loaded.
var ErrNoProfiles = errors.New("no profiles")

// Load reads the profiles in the top folder of a file system, such as an embed.FS: all files that end in .yaml, with the files that
// they name in contentFrom. An error of a profile is source.Findings, with positions.
func Load(folder fs.FS) ([]*profile.Document, error) {
	names, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("loading profiles: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("loading profiles: %w", ErrNoProfiles)
	}
	files := make([]source.File, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, fmt.Errorf("loading profiles: %w", err)
		}
		files = append(files, profile.Attach(source.File{Name: name, Data: data}, func(attached string) ([]byte, error) {
			return fs.ReadFile(folder, path.Clean(attached))
		}))
	}
	documents, findings := profile.Load(files...)
	if err := findings.Err(); err != nil {
		return nil, fmt.Errorf("loading profiles: %w", err)
	}
	return documents, nil
}
