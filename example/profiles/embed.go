// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package profiles embeds the example profiles with their files, for programs that create new profiles from them. Start
// reading at Files.
package profiles

import (
	"embed"
	"io/fs"
	"path"
)

// Files are the example profiles, one folder each: profile.yaml, images.yaml and files.
//
//go:embed */profile.yaml */images.yaml */files
var Files embed.FS

// Names are the names of the examples, sorted.
func Names() []string {
	found, err := fs.Glob(Files, "*/profile.yaml")
	if err != nil {
		return nil
	}
	names := make([]string, len(found))
	for i, name := range found {
		names[i] = path.Dir(name)
	}
	return names
}
