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
		Short: "Write the least that an installation must be permitted",
		Long: `Write the least that an installation must be permitted.

Of the profiles follows what the webhooks read in a seed: Clusters, namespaces, and what their lookups name. The roles allow that and
no more: Secrets and ConfigMaps by their names, and any of a kind only where a profile computes the name. A comment says which lookup
needs what. A profile that looks up what the installation may not read is refused when it is loaded.

With --values it writes the values of the chart that make the same of the chart's own roles.`,
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
	set.SortFlags = false
	profiles.addTo(set)
	set.StringVar(&options.Name, "name", "gardener-extension-provider-graft", "name of the service account and the roles; "+
		"outside of the namespace, roles and webhook registration are called NAME.NAMESPACE")
	set.StringVar(&options.Namespace, "namespace", "extension-provider-graft", "namespace of the extension")
	set.StringVar(&options.Gate, "gate", "", "type of the Extensions by which gardenlet waits for the webhooks, as in config.gate.type of the chart; no gate without one")
	set.BoolVar(&values, "values", false, "write the chart's values in place of roles")
	for _, name := range []string{"name", "namespace", "gate"} {
		_ = command.RegisterFlagCompletionFunc(name, fixed())
	}
	return command
}

// whatFor says which lookup needs a permission.
func whatFor(p mutation.Permission) string {
	name := p.Name
	if name == "" {
		name = "any, by a name that is computed"
	}
	return fmt.Sprintf("%s: lookup %s of %s reads %s %s", p.Position, p.Lookup, p.Profile, p.Resource, name)
}
