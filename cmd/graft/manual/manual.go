// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package manual writes the reference page of a command line from its cobra commands. It knows none of the commands.
// Start reading at Markdown.
package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Commands returns a command and its visible sub-commands, in the order of the help.
func Commands(root *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{root}
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() && command.Name() != "help" {
			out = append(out, Commands(command)...)
		}
	}
	return out
}

// ExitStatus returns the meanings of graft's exit statuses.
func ExitStatus() [][2]string {
	return [][2]string{
		{"0", "Success."},
		{"1", "Findings: errors of a profile, failed tests, a denied object; with --exit-code also differences."},
		{"2", "Failure: a wrong command line, a missing or unreadable file, an error of the program."},
		{"130", "Interrupted by Ctrl-C. No file is incomplete."},
	}
}

// dedent takes the indentation of the first line from all lines.
func dedent(text string) string {
	text = strings.Trim(text, "\n")
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(lines[i], indent), " ")
	}
	return strings.Join(lines, "\n")
}

// Markdown returns one page with the help texts of all commands below a root.
func Markdown(root *cobra.Command) []byte {
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "# The command line\n\nFor users of `%[1]s`. Look up the flags and examples of a command, as `%[1]s COMMAND --help` "+
		"prints them.\nRun the examples in the root of the repository.\n\n",
		root.Name())
	fmt.Fprintf(out, "| status | meaning |\n|---|---|\n")
	for _, status := range ExitStatus() {
		fmt.Fprintf(out, "| %s | %s |\n", status[0], status[1])
	}
	for _, command := range Commands(root) {
		writeCommand(out, command)
	}
	return out.Bytes()
}

// columns is the maximum width of option descriptions.
const columns = 118

// writeCommand writes the help text of a command as a block of text, and its examples as commands.
func writeCommand(out *bytes.Buffer, command *cobra.Command) {
	fmt.Fprintf(out, "\n## %s\n\n```text\n%s\n\n%s\n", command.CommandPath(), strings.TrimSuffix(command.UseLine(), " [flags]"),
		strings.Trim(cmp.Or(command.Long, command.Short+"."), "\n"))
	if usages := command.NonInheritedFlags().FlagUsagesWrapped(columns); usages != "" {
		fmt.Fprintf(out, "\nOptions:\n%s", usages)
	}
	fmt.Fprintf(out, "```\n")
	if command.Example != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", dedent(command.Example))
	}
}
