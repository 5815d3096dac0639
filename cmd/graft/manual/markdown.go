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

// Markdown is the page of all commands below a root.
func Markdown(root *cobra.Command) []byte {
	root.InitDefaultHelpFlag()
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "# The command line\n\nWhat `%[1]s --help` and `%[1]s COMMAND --help` say, in one page; `%[1]s completion man DIR` writes it as man pages. "+
		"The examples are run by the tests, in the root of the repository.\n\n", root.Name())
	commands := Commands(root)
	for _, command := range commands[1:] {
		fmt.Fprintf(out, "- [%s](#%s): %s\n", command.CommandPath(), strings.ReplaceAll(command.CommandPath(), " ", "-"), command.Short)
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

func writeCommand(out *bytes.Buffer, command *cobra.Command) {
	fmt.Fprintf(out, "\n## %s\n", command.CommandPath())
	fmt.Fprintf(out, "\n```text\n%s\n```\n", synopsis(command))
	for _, part := range parts(long(command)) {
		if part.literal {
			fmt.Fprintf(out, "\n```text\n%s\n```\n", dedent(part.text))
			continue
		}
		fmt.Fprintf(out, "\n%s\n", prose(part.text))
	}
	if command.Example != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", dedent(command.Example))
	}
	title := "option"
	for _, set := range []*pflag.FlagSet{command.NonInheritedFlags(), command.InheritedFlags()} {
		list := options(set)
		if len(list) > 0 {
			fmt.Fprintf(out, "\n| %s | |\n|---|---|\n", title)
		}
		for _, option := range list {
			fmt.Fprintf(out, "| %s | %s |\n", option.markdown(), strings.ReplaceAll(prose(option.usage), "|", `\|`))
		}
		title = "option of every command"
	}
}

// long is the help text of a command.
func long(command *cobra.Command) string {
	if command.Long != "" {
		return command.Long
	}
	return command.Short + "."
}

func (o option) markdown() string {
	text := "--" + o.long
	if o.short != "" {
		text = "-" + o.short + ", " + text
	}
	if o.value != "" {
		text += " " + o.value
	}
	return "`" + text + "`"
}

// prose is text in which Markdown finds no tags and no emphasis.
func prose(text string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(text)
}
