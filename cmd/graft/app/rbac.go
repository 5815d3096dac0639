// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
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

The webhooks read Clusters, namespaces and the objects of lookups. The roles allow only these: Secrets and ConfigMaps by name, and all
objects of a kind only if a profile computes the name. A comment names the lookup of each permission. The extension refuses a profile
with a lookup that it may not read.

--values writes the same permissions as values of the chart.`,
		Example: `  # roles and bindings for the profiles in a folder
  graft rbac -p example/profiles/azure/profile.yaml

  # the chart's values for them
  graft rbac -p example/profiles/azure/profile.yaml --values`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := profiles.load()
			if err != nil {
				return err
			}
			var out bytes.Buffer
			for _, needed := range l.Program.Permissions() {
				fmt.Fprintf(&out, "# %s\n", whatFor(needed))
			}
			objects := []any{permission.ValuesOf(l.Program)}
			if !values {
				objects = permission.Objects(l.Program, options)
			}
			for i, object := range objects {
				if i > 0 {
					out.WriteString("---\n")
				}
				text, err := yaml.Marshal(object)
				if err != nil {
					return fmt.Errorf("writing the roles: %w", err)
				}
				out.Write(text)
			}
			_, err = s.Out.Write(out.Bytes())
			return err
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

// whatFor names the lookup that needs a permission.
func whatFor(p mutation.Permission) string {
	name := p.Name
	if name == "" {
		name = "any, by a name that is computed"
	}
	return fmt.Sprintf("%s: lookup %s of %s reads %s %s", p.Position, p.Lookup, p.Profile, p.Resource, name)
}
