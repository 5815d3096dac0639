// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// convertOptions are the flags of graft convert.
type convertOptions struct {
	provider, name  string
	gardenerVersion string
}

func newConvertCommand(s *Streams) *cobra.Command {
	o := &convertOptions{}
	command := &cobra.Command{
		Use:   "convert BEFORE AFTER",
		Short: "Propose rules for the differences between objects",
		Long: `Propose rules for the differences between objects.

BEFORE and AFTER are files or folders with manifests of control planes without and with the changes of a
provider's webhook. Objects are matched by kind, namespace and name. graft render --without-profile writes a
control plane as Gardener creates it.

The rules are applied to BEFORE. Differences that they do not reproduce are comments in the profile and messages
on standard error. Conditions, expressions and the data of Secrets are not proposed.

Exit status: 0 if the profile reproduces all differences; 1 if not; 2 if the command failed.`,
		Example: `  # from two dumps of a control plane
  graft convert docs/usage/convert/before.yaml docs/usage/convert/after.yaml --provider acme`,
		Args: exactly("the manifests before and after", 2),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command, s, arguments[0], arguments[1])
		},
	}
	set := command.Flags()
	set.StringVar(&o.provider, "provider", "", "provider of the profile")
	set.StringVar(&o.name, "name", "", "name of the profile (default: the provider)")
	set.StringVar(&o.gardenerVersion, "gardener-version", "", "version of Gardener (default: the current one)")
	return command
}

func (o *convertOptions) run(command *cobra.Command, s *Streams, before, after string) error {
	if o.provider == "" {
		return errors.New("name the provider of the profile with --provider")
	}
	generation, err := contract.GenerationOf(o.gardenerVersion)
	if err != nil {
		return fmt.Errorf("reading --gardener-version: %w", err)
	}
	was, err := manifest.Read([]string{before}, s.In)
	if err != nil {
		return err
	}
	is, err := manifest.Read([]string{after}, s.In)
	if err != nil {
		return err
	}
	proposal, err := convert.Propose(command.Context(), was, is,
		convert.Options{Provider: o.provider, Name: cmp.Or(o.name, o.provider), Generation: generation})
	if err != nil {
		return err
	}
	if _, err := s.Out.Write(proposal.Profile); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "reproduced %d of %s with %s\n", proposal.Reproduced,
		counted(proposal.Objects, "object that differs", "objects that differ"), counted(proposal.Arguments, "argument", "arguments"))
	if len(proposal.Missed) > 0 {
		return found{"not reproduced:\n  " + strings.Join(proposal.Missed, "\n  ")}
	}
	return nil
}
