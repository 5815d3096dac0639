// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Markdown returns one page with the help texts of all commands below a root.
func Markdown(root *cobra.Command) []byte {
	root.InitDefaultHelpFlag()
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "# The command line\n\nFor users of `%[1]s`. The page has the help text of each command, as `%[1]s COMMAND --help` "+
		"prints it.\nRun the examples in the root of the repository.\n\n",
		root.Name())
	commands := Commands(root)
	for _, command := range commands[1:] {
		fmt.Fprintf(out, "- [%s](#%s)\n", command.CommandPath(), strings.ReplaceAll(command.CommandPath(), " ", "-"))
	}
	fmt.Fprintf(out, "\n| status | meaning |\n|---|---|\n")
	for _, status := range ExitStatus() {
		fmt.Fprintf(out, "| %s | %s |\n", status[0], status[1])
	}
	for _, command := range commands {
		writeCommand(out, command)
	}
	return out.Bytes()
}

// columns is the maximum width of option descriptions.
const columns = 118

// writeCommand writes the help text of a command as a block of text, and its examples as commands.
func writeCommand(out *bytes.Buffer, command *cobra.Command) {
	fmt.Fprintf(out, "\n## %s\n\n```text\n%s\n\n%s\n", command.CommandPath(), synopsis(command), strings.Trim(long(command), "\n"))
	if usages := visible(command.NonInheritedFlags()).FlagUsagesWrapped(columns); usages != "" {
		fmt.Fprintf(out, "\nOptions:\n%s", usages)
	}
	fmt.Fprintf(out, "```\n")
	if command.Example != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", dedent(command.Example))
	}
}

// visible returns the flags of a set without hidden ones and --help, which every command has.
func visible(set *pflag.FlagSet) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	out.SortFlags = set.SortFlags
	set.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			out.AddFlag(flag)
		}
	})
	return out
}

// long returns the help text of a command.
func long(command *cobra.Command) string {
	if command.Long != "" {
		return command.Long
	}
	return command.Short + "."
}
