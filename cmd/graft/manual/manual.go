// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package manual writes the reference page of a command line from its cobra commands. It knows none of the commands.
// Enter at Markdown.
package manual

import (
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
		{"0", "All is fine."},
		{"1", "Something was found: errors of a profile, tests that fail, an object that is denied; with --exit-code differences, too."},
		{"2", "The work could not be done: a wrong command line, a file that is not there or cannot be read, an error of the program."},
		{"130", "Ctrl-C ended it. Nothing is left half written."},
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

// synopsis returns the usage of a command with the names of its parents.
func synopsis(command *cobra.Command) string {
	return strings.TrimSuffix(command.UseLine(), " [flags]")
}
