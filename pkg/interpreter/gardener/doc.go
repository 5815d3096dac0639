// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardener knows the kinds of Gardener: InterpreterProfiles that are part of the program, one file for each group of kinds. Their health is that
// which Gardener's own checks give. It holds documents and no logic. Enter at Profiles.
package gardener

import (
	"embed"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

//go:embed *.yaml
var files embed.FS

// Files are the profiles as they are written, by their names.
func Files() ([]source.File, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	all := make([]source.File, len(entries))
	for i, entry := range entries {
		data, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, err
		}
		all[i] = source.File{Name: "gardener/" + entry.Name(), Data: data}
	}
	return all, nil
}

// Profiles are the profiles. An error means that the program is wrong.
func Profiles() ([]*profile.Interpreter, error) {
	all, err := Files()
	if err != nil {
		return nil, err
	}
	documents, findings := profile.LoadInterpreters(all...)
	return documents, findings.Err()
}
