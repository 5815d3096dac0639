// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrNoProfiles means that there is no profile to be loaded.
var ErrNoProfiles = errors.New("no profiles")

// Load reads the profiles in the top folder of a file system, such as an embed.FS: all files that end in .yaml or .yml,
// except those that a profile uses as a file. For a folder on disk, pass the FS of an os.Root, which does not follow
// links out of it. An error of a profile is of type source.Findings, with positions.
func Load(folder fs.FS) ([]*profile.Document, error) {
	files, err := readProfiles(folder)
	if err != nil {
		return nil, fmt.Errorf("loading profiles: %w", err)
	}
	files = profile.WithoutAttachments(files, func(_ source.File, path string) string { return path })
	if len(files) == 0 {
		return nil, fmt.Errorf("loading profiles: %w", ErrNoProfiles)
	}
	documents, findings := profile.Load(files...)
	if err := findings.Err(); err != nil {
		return nil, fmt.Errorf("loading profiles: %w", err)
	}
	return documents, nil
}

func readProfiles(folder fs.FS) ([]source.File, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, err
	}
	var files []source.File
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			continue
		}
		data, err := disk.ReadFS(folder, name, disk.DocumentSize)
		if err != nil {
			return nil, err
		}
		files = append(files, profile.Attach(source.File{Name: name, Data: data}, func(attached string) ([]byte, error) {
			return disk.ReadFS(folder, attached, disk.DocumentSize)
		}))
	}
	return files, nil
}
