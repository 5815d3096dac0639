// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardener knows the kinds of Gardener: InterpreterProfiles that are part of the program, one file for each group of kinds. Their health is that
// which Gardener's own checks give. Beside them there are optional ones, which are in force only where they are asked for by name, so that no webhook
// is registered for what nobody wants. It holds documents and no logic. Enter at Profiles.
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

// folder is that of the optional profiles, and suffix what follows their names.
const (
	folder = "optional"
	suffix = ".yaml"
)

// Optional are the names of the optional profiles, by the alphabet.
func Optional() []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil // the folder is part of the program
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), suffix)
	}
	return names
}

// Files are the profiles as they are written, with those optional ones that are named. The error is of a name that there is not.
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
			return nil, fmt.Errorf("there is no optional profile %q of Gardener, only %s", name, strings.Join(Optional(), ", "))
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

// Profiles are the profiles, with those optional ones that are named. The error is of a name that there is not, or means that the program is wrong.
func Profiles(optional ...string) ([]*profile.Interpreter, error) {
	all, err := Files(optional...)
	if err != nil {
		return nil, err
	}
	documents, findings := profile.LoadInterpreters(all...)
	return documents, findings.Err()
}
