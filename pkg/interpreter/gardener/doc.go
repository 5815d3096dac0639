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
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

//go:embed *.yaml optional/*.yaml
var files embed.FS

// Optional returns the names of the optional profiles, sorted.
func Optional() []string {
	names, _ := fs.Glob(files, "optional/*.yaml") // the pattern is valid
	for i, name := range names {
		names[i] = strings.TrimSuffix(path.Base(name), ".yaml")
	}
	return names
}

// Profiles returns the profiles, with the named optional ones. It fails for an unknown name, or if a file of
// the program is invalid.
func Profiles(optional ...string) ([]*profile.Interpreter, error) {
	names, _ := fs.Glob(files, "*.yaml") // the pattern is valid
	for _, name := range optional {
		if !slices.Contains(Optional(), name) {
			return nil, fmt.Errorf("there is no optional profile %q of Gardener; choose from %s", name, strings.Join(Optional(), ", "))
		}
		if file := "optional/" + name + ".yaml"; !slices.Contains(names, file) {
			names = append(names, file)
		}
	}
	all := make([]source.File, len(names))
	for i, name := range names {
		data, _ := files.ReadFile(name) // the file is part of the program
		all[i] = source.File{Name: "gardener/" + name, Data: data}
	}
	documents, findings := profile.LoadInterpreters(all...)
	return documents, findings.Err()
}
