// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/docs/schema"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func newSchemaCommand(s *Streams) *cobra.Command {
	var folder string
	command := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Write JSON Schemas of the documents, for editors",
		Long: `Write JSON Schemas of the documents, for editors.

Without a kind it lists the kinds, or with --output-dir writes all schemas. An editor with the YAML language
server completes, explains and checks fields, targets and operations with them (docs/usage/editors.md).`,
		Example: `  # kinds with a schema
  graft schema

  # the schema of ProviderProfiles
  graft schema ProviderProfile

  # all schemas, for an editor
  graft schema --output-dir schemas`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: kindNames(),
		RunE: func(_ *cobra.Command, arguments []string) error {
			kinds := schema.Kinds()
			if len(arguments) > 0 {
				at := slices.IndexFunc(kinds, func(kind schema.Kind) bool { return strings.EqualFold(kind.Name, arguments[0]) })
				if at < 0 {
					return fmt.Errorf("unknown kind %q%s; `graft schema` lists the kinds", arguments[0], source.Suggest(arguments[0], kindNames()))
				}
				kinds = kinds[at : at+1]
			}
			switch {
			case folder != "":
				return writeSchemas(s, folder, kinds)
			case len(arguments) == 0:
				return listSchemas(s, kinds)
			}
			_, err := s.Out.Write(kinds[0].Schema)
			return err
		},
	}
	command.Flags().StringVar(&folder, "output-dir", "", "folder for the schemas, one file each")
	return command
}

func kindNames() []string {
	var names []string
	for _, kind := range schema.Kinds() {
		names = append(names, kind.Name)
	}
	return names
}

func listSchemas(s *Streams, kinds []schema.Kind) error {
	table := tabwriter.NewWriter(s.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "KIND\tFILE\tFOR")
	for _, kind := range kinds {
		fmt.Fprintf(table, "%s\t%s\t%s\n", kind.Name, kind.File, kind.Documents)
	}
	return table.Flush()
}

// writeSchemas writes each schema to its file, and overwrites existing ones.
func writeSchemas(s *Streams, folder string, kinds []schema.Kind) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // what editors read
		return fmt.Errorf("making the folder for schemas: %w", err)
	}
	for _, kind := range kinds {
		path := filepath.Join(folder, kind.File)
		if err := os.WriteFile(path, kind.Schema, 0o644); err != nil { //nolint:gosec // what editors read
			return fmt.Errorf("writing a schema: %w", err)
		}
		fmt.Fprintln(s.Err, "wrote "+path)
	}
	return nil
}
