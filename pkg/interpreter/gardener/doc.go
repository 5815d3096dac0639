// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardener contains InterpreterProfiles for Gardener's kinds, one file for each group of kinds, as part
// of the program. Their health agrees with Gardener's own checks. Further profiles are optional and must be
// selected by name, so that no webhook is registered for unused kinds. The package has documents and no logic.
// Start reading at Profiles.
package gardener

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

//go:embed *.yaml optional/*.yaml
var files embed.FS

// folder contains the optional profiles; suffix is their file extension.
const (
	folder = "optional"
	suffix = ".yaml"
)

// Optional returns the names of the optional profiles, sorted.
func Optional() []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil // unreachable: the folder is part of the program
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), suffix)
	}
	return names
}

// Files returns the files of the profiles, with the named optional ones. It fails for an unknown name.
func Files(optional ...string) ([]source.File, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	for _, name := range optional {
		if !slices.Contains(Optional(), name) {
			return nil, fmt.Errorf("there is no optional profile %q of Gardener; choose from %s", name, strings.Join(Optional(), ", "))
		}
		if file := path.Join(folder, name+suffix); !slices.Contains(names, file) {
			names = append(names, file)
		}
	}
	all := make([]source.File, len(names))
	for i, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[i] = source.File{Name: "gardener/" + name, Data: data}
	}
	return all, nil
}

// Profiles returns the profiles, with the named optional ones. It fails for an unknown name, or if a file of
// the program is invalid.
func Profiles(optional ...string) ([]*profile.Interpreter, error) {
	all, err := Files(optional...)
	if err != nil {
		return nil, err
	}
	documents, findings := profile.LoadInterpreters(all...)
	return documents, findings.Err()
}
