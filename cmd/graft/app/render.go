// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// renderOptions are the flags of graft render.
type renderOptions struct {
	profiles  profileFlags
	snapshots snapshotFlags
	output    outputFlags
	// bare leaves the profiles out.
	bare bool
}

func newRenderCommand(s *Streams) *cobra.Command {
	o := &renderOptions{}
	command := &cobra.Command{
		Use:   "render [manifest|folder|-]...",
		Short: "Write the mutated objects",
		Long: `Write the mutated objects.

The manifests and flags are those of graft diff. Objects without rules are written unchanged. Denied objects are
left out and reported on standard error. Values from Secrets are hidden unless --show-secrets is given.
--without-profile writes the objects as Gardener creates them.`,
		Example: `  # the control plane of a shoot, after the webhooks
  graft render -p example/profiles/openstack/profile.yaml --kubernetes 1.34.2

  # as Gardener creates it, for graft convert
  graft render --without-profile --kubernetes 1.34.2 --provider openstack`,
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	o.profiles.addTo(set)
	o.snapshots.addTo(set)
	o.output.addTo(command, render.Objects())
	set.BoolVar(&o.bare, "without-profile", false, "write the objects as Gardener creates them, without a profile")
	command.MarkFlagsMutuallyExclusive("profile", "without-profile")
	return command
}

func (o *renderOptions) run(command *cobra.Command, s *Streams, manifests []string) error {
	profiles, err := o.load()
	if err != nil {
		return err
	}
	snapshots, err := o.snapshots.snapshots(command.Context(), s, manifests, profiles.Provider())
	if err != nil {
		return err
	}
	changes, err := admit(command.Context(), profiles, snapshots)
	if err != nil {
		return err
	}
	return o.write(s, changes)
}

// load returns the profiles; none with --without-profile.
func (o *renderOptions) load() (*loaded, error) {
	if !o.bare {
		return o.profiles.load()
	}
	program, err := compiler.Compile(nil, compiler.Options{})
	return &loaded{Program: program}, err
}

// write writes the admitted objects, and reports missing ones.
func (o *renderOptions) write(s *Streams, changes []*render.Change) error {
	var admitted []*render.Change
	hidden := 0
	for _, change := range changes {
		if change.Denied != nil {
			fmt.Fprintf(s.Err, "%s %s is denied: %s\n", change.Kind, change.Name, change.Denial())
			continue
		}
		if change.Hides() && !o.output.showSecrets {
			hidden++
		}
		admitted = append(admitted, change)
	}
	if err := o.output.write(s, s.style(), admitted); err != nil {
		return err
	}
	if hidden > 0 {
		fmt.Fprintf(s.Err, "values of Secrets are hidden in %d of the objects; show them with --show-secrets\n", hidden)
	}
	missed(s, changes)
	if len(admitted) < len(changes) {
		return found{}
	}
	return nil
}
