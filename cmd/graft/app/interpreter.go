// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func newInterpreterCommand(s *Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "interpreter",
		Short: "Prepare and try a resource interpreter",
		Long: `Prepare and try a resource interpreter.

A resource interpreter answers Karmada's questions about custom kinds with the rules of InterpreterProfiles.`,
		Example: `  # kinds with rules
  graft interpreter kinds`,
		Args: unknownCommand,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, below := range []func(*Streams) *cobra.Command{
		newInterpretCommand, newInterpreterWebhookCommand, newInterpreterCustomizationCommand, newInterpreterConvertCommand,
		newInterpreterDefinitionCommand, newInterpreterKindsCommand,
	} {
		command.AddCommand(below(s))
	}
	return command
}

func newInterpreterDefinitionCommand(s *Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "crd",
		Short: "Write the CustomResourceDefinition of the proposal",
		Long: `Write the CustomResourceDefinition of the proposal.

It defines ResourceExploringWebhookConfiguration with the defaults and the validation of the proposal. Karmada ships its own
CustomResourceDefinitions.`,
		Example: `  # for kubectl apply -f -
  graft interpreter crd`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(configuration.Definition())
			return err
		},
	}
}

func newInterpreterKindsCommand(s *Streams) *cobra.Command {
	o := &interpreterFlags{}
	command := &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds with rules",
		Long: `List the kinds with rules, their operations, and the files with the rules.

The version * means all versions without their own line.`,
		Example: `  # kinds of Gardener
  graft interpreter kinds

  # kinds of a profile only
  graft interpreter kinds -p example/interpreter/profile.yaml --gardener=false`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			profiles, err := o.load()
			if err != nil {
				return err
			}
			return listKinds(s, profiles)
		},
	}
	command.Flags().SortFlags = false
	o.addTo(command)
	return command
}

func listKinds(s *Streams, profiles *interpreters) error {
	table := tabwriter.NewWriter(s.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "KIND\tOPERATIONS\tFILES")
	for _, known := range profiles.program.Kinds() {
		var operations []string
		for _, one := range known.Operations {
			operations = append(operations, string(one))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", known.Kind, strings.Join(operations, ","), strings.Join(filesOf(profiles.documents, known.Kind), ", "))
	}
	return table.Flush()
}

// filesOf returns the files with rules for a kind, in their order.
func filesOf(documents []*profile.Interpreter, kind interpreter.Kind) []string {
	var files []string
	for _, said := range ofKind(documents, kind) {
		if !slices.Contains(files, said.File) {
			files = append(files, said.File)
		}
	}
	return files
}

// ofKind returns the parts of documents about a kind, in their order.
func ofKind(documents []*profile.Interpreter, kind interpreter.Kind) []source.Node {
	var said []source.Node
	for _, d := range documents {
		for i, k := range d.Kinds {
			names := []string{k.Kind.Value}
			for _, name := range k.Kinds {
				names = append(names, name.Value)
			}
			group, version, divided := strings.Cut(k.APIVersion.Value, "/")
			if !divided {
				group, version = "", group
			}
			if group == kind.Group && (version == "*" || version == kind.Version) && slices.Contains(names, kind.Kind) {
				said = append(said, d.Node.Get("kinds").Items()[i])
			}
		}
	}
	return said
}

func newInterpreterCustomizationCommand(s *Streams) *cobra.Command {
	var (
		o        interpreterFlags
		versions []string
	)
	command := &cobra.Command{
		Use:   "customization",
		Short: "Write the rules as customizations in Lua",
		Long: `Write the rules as customizations in Lua.

Karmada runs a ResourceInterpreterCustomization itself, without a webhook. The command writes one for each kind and version. A rule
that Lua cannot express is an error with its position; nothing is written then.`,
		Example: `  # customizations for a profile, for kubectl apply -f -
  graft interpreter customization -p example/interpreter/profile.yaml --gardener=false --version acme.com/v1

  # customizations for Gardener's kinds
  graft interpreter customization`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			options, err := luaOptions(versions)
			if err != nil {
				return err
			}
			documents, err := o.read()
			if err != nil {
				return err
			}
			return writeCustomizations(s, documents, options)
		},
	}
	command.Flags().SortFlags = false
	o.addTo(command)
	command.Flags().StringArrayVar(&versions, "version", nil, "version of a group, for rules for all its versions: group/version (repeatable)")
	_ = command.RegisterFlagCompletionFunc("version", fixed())
	return command
}

// luaOptions reads group/version.
func luaOptions(versions []string) (lua.Options, error) {
	o := lua.Options{Versions: map[string][]string{}}
	for _, one := range versions {
		group, version, divided := strings.Cut(one, "/")
		if !divided || group == "" || version == "" || strings.Contains(version, "/") {
			return o, fmt.Errorf("--version %s: must be group/version", one)
		}
		o.Versions[group] = append(o.Versions[group], version)
	}
	return o, nil
}

func writeCustomizations(s *Streams, documents []*profile.Interpreter, o lua.Options) error {
	all, findings := lua.Translate(documents, o)
	if err := findings.Errors().Err(); err != nil {
		return err
	}
	for _, warning := range findings {
		fmt.Fprintln(s.Err, warning.Error())
	}
	for i, one := range all {
		raw, err := yaml.Marshal(one)
		if err != nil {
			return fmt.Errorf("writing a customization: %w", err)
		}
		if i > 0 {
			fmt.Fprintln(s.Out, "---")
		}
		if _, err := s.Out.Write(raw); err != nil {
			return err
		}
	}
	return nil
}
