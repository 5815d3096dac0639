// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// renderOptions are the flags of graft render.
type renderOptions struct {
	profiles profileFlags
	scenes   sceneFlags
}

func newRenderCommand(s *Streams) *cobra.Command {
	o := &renderOptions{}
	command := &cobra.Command{
		Use:   "render [manifest|folder|-]...",
		Short: "Write the objects as profiles make them",
		Long: `Write the objects as profiles make them.

The manifests and flags are those of graft diff. Objects that no rule is for are written as they are; one that is denied is
left out, and said on standard error.`,
		Example: `  # the control plane of a shoot, after the webhooks
  graft render -p example/profiles/openstack/profile.yaml --kubernetes 1.34.2`,
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	o.profiles.addTo(set)
	o.scenes.addTo(set)
	return command
}

func (o *renderOptions) run(command *cobra.Command, s *Streams, manifests []string) error {
	profiles, err := o.profiles.load()
	if err != nil {
		return err
	}
	scenes, err := o.scenes.scenes(command.Context(), s, manifests, profiles.Provider())
	if err != nil {
		return err
	}
	denied := 0
	for _, scene := range scenes {
		changes, err := scene.Admit(command.Context(), profiles.Program)
		if err != nil {
			return err
		}
		for _, change := range changes {
			if change.Denied != nil {
				denied++
				fmt.Fprintf(s.Err, "%s %s is denied: %s\n", change.Kind, change.Name, change.Denied)
				continue
			}
			text, err := yaml.JSONToYAML(change.Bytes())
			if err != nil {
				return fmt.Errorf("writing %s %s: %w", change.Kind, change.Name, err)
			}
			fmt.Fprintf(s.Out, "---\n%s", text)
		}
	}
	if denied > 0 {
		return found{}
	}
	return nil
}
