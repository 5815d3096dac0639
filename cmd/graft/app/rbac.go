// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/permission"
)

func newRBACCommand(s *Streams) *cobra.Command {
	var (
		profiles profileFlags
		options  permission.Options
		values   bool
	)
	command := &cobra.Command{
		Use:   "rbac",
		Short: "Write the minimal permissions of an installation",
		Long: `Write the minimal permissions of an installation.

The webhooks read Clusters, namespaces and the objects of lookups. The roles allow only these: Secrets and
ConfigMaps by name, and all objects of a kind only if a profile computes the name. A comment names the lookup of
each permission. The extension refuses a profile with a lookup that it may not read.

--values writes the same permissions as values of the chart.`,
		Example: `  # roles and bindings for the profiles in a folder
  graft rbac -p example/profiles/azure/profile.yaml

  # the chart's values for them
  graft rbac -p example/profiles/azure/profile.yaml --values`,
		Args: atMost("no argument, but profiles with --profile", 0),
		RunE: func(*cobra.Command, []string) error {
			l, err := profiles.load()
			if err != nil {
				return err
			}
			for _, needed := range l.Program.Permissions() {
				name := cmp.Or(needed.Name, "any, by a name that is computed")
				fmt.Fprintf(s.Out, "# %s: lookup %s of %s reads %s %s\n", needed.Position, needed.Lookup, needed.Profile, needed.Resource, name)
			}
			if values {
				return writeYAML(s.Out, permission.ValuesOf(l.Program))
			}
			return writeYAML(s.Out, permission.Objects(l.Program, options)...)
		},
	}
	set := command.Flags()
	profiles.addTo(set)
	set.StringVar(&options.Name, "name", "gardener-extension-provider-graft", "name of the service account and the roles; "+
		"outside of the namespace, roles and webhook registration are called NAME.NAMESPACE")
	set.StringVar(&options.Namespace, "namespace", "extension-provider-graft", "namespace of the extension")
	set.StringVar(&options.Gate, "gate", "", "type of the Extension with which gardenlet waits for the webhooks, as in config.gate.type of the chart; default: no gate")
	set.BoolVar(&values, "values", false, "write values of the chart instead of roles")
	return command
}
