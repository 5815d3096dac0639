// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manual_test

import (
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/manual"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// program is a command line with every element that the manual supports.
func program() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "Do things", Long: "Do things.\n\nOn your machine."}
	root.PersistentFlags().String("color", "auto", "colour the output")
	below := &cobra.Command{
		Use: "show [file]...", Short: "Show files", Run: run,
		Long: `Show files, also those that begin
.with a dot, 'quotes' and a back\slash.

  tool show a*b
      further in

  tool show <file>

The end.`,
		Example: "  # a comment\n  tool show -p a_b.yaml\n\n  tool show | cat",
	}
	below.Flags().StringArrayP("profile", "p", nil, "a `path` of|or a folder")
	below.Flags().Int("context", 3, "number of lines")
	below.Flags().Bool("all", false, "show *all* of them")
	hidden := &cobra.Command{Use: "secret", Short: "Not shown", Hidden: true, Run: run}
	root.AddCommand(below, hidden)
	return root
}

func TestMarkdown(t *testing.T) {
	golden.Compare(t, filepath.Join("testdata", "tool.md.txt"), string(manual.Markdown(program())))
}
