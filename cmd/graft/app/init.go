// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scaffold"
)

// initOptions are the flags of graft init.
type initOptions struct {
	answers scaffold.Answers
	force   bool
}

func newInitCommand(s *Streams) *cobra.Command {
	o := &initOptions{}
	command := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create a profile with a test and an editor configuration",
		Long: `Create a profile with a test and an editor configuration.

The profile has the rules for an external cloud-controller-manager. The default folder has the name of the
profile. Existing files are kept unless --force is given. To begin from an example, copy its folder and change
name and providers.`,
		Example: `  # a profile for the provider acme
  graft init acme`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	a := &o.answers
	set.StringVar(&a.Provider, "provider", "", "type of the provider, as in the Shoot (default: the name of the folder)")
	set.StringVar(&a.Name, "name", "", "name of the profile (default: the provider)")
	set.StringVar(&a.Kubernetes, "kubernetes", ">= 1.31", "versions of Kubernetes that the profile supports; empty for all")
	set.BoolVar(&o.force, "force", false, "write into a folder with files, and replace files of the same name")
	return command
}

func (o *initOptions) run(command *cobra.Command, s *Streams, arguments []string) error {
	if base := filepath.Base(filepath.Join(arguments...)); o.answers.Provider == "" && len(arguments) == 1 && base != "." {
		o.answers.Provider = base
	}
	files, err := o.files()
	if err != nil {
		return err
	}
	folder := o.answers.Name
	if len(arguments) == 1 {
		folder = arguments[0]
	}
	switch err := files.Write(command.Context(), folder, o.force); {
	case errors.Is(err, scaffold.ErrExists):
		return fmt.Errorf("%w: name another folder, or replace its files with --force", err)
	case err != nil:
		return err
	}
	for _, name := range files.Names() {
		fmt.Fprintln(s.Out, filepath.Join(folder, filepath.FromSlash(name)))
	}
	fmt.Fprintf(s.Err, "next: graft test %s, and graft diff -p %s\n", folder, filepath.Join(folder, scaffold.ProfileFile))
	return nil
}

// files returns the files of the new profile.
func (o *initOptions) files() (scaffold.Files, error) {
	a := &o.answers
	if a.Provider == "" {
		return nil, errors.New("name the type of the provider with --provider")
	}
	if a.Name == "" {
		a.Name = a.Provider
	}
	return scaffold.New(*a)
}
