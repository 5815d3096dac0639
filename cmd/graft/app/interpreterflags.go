// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// interpreterFlags say which InterpreterProfiles are meant.
type interpreterFlags struct {
	paths    []string
	gardener bool
	optional []string
}

// interpreters are InterpreterProfiles that are ready to answer.
type interpreters struct {
	documents []*profile.Interpreter
	program   *rule.Program
}

func (f *interpreterFlags) addTo(command *cobra.Command) {
	set := command.Flags()
	set.StringArrayVarP(&f.paths, "profile", "p", nil, "file or folder with InterpreterProfiles; they precede those of Gardener (repeatable)")
	set.BoolVar(&f.gardener, "gardener", true, "include the profiles for Gardener's kinds")
	set.StringArrayVar(&f.optional, "optional", nil, "name of an optional profile for Gardener's kinds (repeatable)")
	_ = command.RegisterFlagCompletionFunc("optional", fixed(gardener.Optional()...)) // fails for unknown flags only
}

// load reads and compiles the profiles. The error is source.Findings where profiles are wrong.
func (f *interpreterFlags) load() (*interpreters, error) {
	files, err := f.files()
	if err != nil {
		return nil, err
	}
	return profile.Guard(files, func(files []source.File) (*interpreters, error) {
		documents, err := f.decode(files)
		if err != nil {
			return nil, err
		}
		program, findings := rule.Compile(documents)
		if err := findings.Errors().Err(); err != nil {
			return nil, err
		}
		return &interpreters{documents, program}, nil
	})
}

// read reads the profiles.
func (f *interpreterFlags) read() ([]*profile.Interpreter, error) {
	files, err := f.files()
	if err != nil {
		return nil, err
	}
	return profile.Guard(files, f.decode)
}

// files reads the named files.
func (f *interpreterFlags) files() ([]source.File, error) {
	if len(f.paths) == 0 {
		return nil, nil
	}
	return folder.ReadNamed(f.paths...)
}

// decode decodes profiles, and adds those of Gardener.
func (f *interpreterFlags) decode(files []source.File) ([]*profile.Interpreter, error) {
	var documents []*profile.Interpreter
	if len(f.paths) > 0 {
		own, findings := profile.LoadInterpreters(files...)
		if err := findings.Errors().Err(); err != nil {
			return nil, err
		}
		documents = own
		from := make([]string, len(own))
		for i, d := range own {
			from[i] = d.Node.File
		}
		if empty := folder.Empty(f.paths, from); len(empty) > 0 {
			return nil, fmt.Errorf("no InterpreterProfile was found in %s: give a file, or a folder with files that end in .yaml", strings.Join(empty, ", "))
		}
	}
	switch {
	case f.gardener:
		embedded, err := gardener.Profiles(f.optional...)
		if err != nil {
			return nil, err
		}
		documents = slices.Concat(documents, embedded)
	case len(f.optional) > 0:
		return nil, errors.New("--optional and --gardener=false exclude each other")
	}
	if len(documents) == 0 {
		return nil, errors.New("no InterpreterProfile was found: name a file or a folder with --profile")
	}
	return documents, nil
}
