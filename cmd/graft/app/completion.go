// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

//go:embed assets/words.bash
var bashWords string

// shells are those that can complete, and how each of them writes its script.
var shells = []struct {
	name  string
	write func(*cobra.Command, io.Writer) error
}{
	{"bash", func(root *cobra.Command, out io.Writer) error {
		if err := root.GenBashCompletionV2(out, true); err != nil {
			return err
		}
		_, err := io.WriteString(out, bashWords)
		return err
	}},
	{"zsh", (*cobra.Command).GenZshCompletion},
	{"fish", func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) }},
	{"powershell", (*cobra.Command).GenPowerShellCompletionWithDesc},
}

func newCompletionCommand(*Streams) *cobra.Command {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	command := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Write completion scripts for shells",
		Long: `Write a script that completes commands, flags and their values: targets, operations, formats, versions, parameters.

Run the line on the left in the current shell, or add it to the file on the right for new shells:

  source <(graft completion bash)                         ~/.bashrc
  source <(graft completion zsh)                          ~/.zshrc, after compinit
  graft completion fish | source                          ~/.config/fish/config.fish
  graft completion powershell | Out-String | Invoke-Expression   $PROFILE`,
		Example: `  graft completion bash
  graft completion fish`,
		Args:                  exactly("a shell", 1),
		ValidArgs:             names,
		DisableFlagsInUseLine: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			for _, shell := range shells {
				if shell.name == arguments[0] {
					return shell.write(command.Root(), command.OutOrStdout())
				}
			}
			return fmt.Errorf("unknown shell %q%s; there are bash, zsh, fish and powershell", arguments[0], source.Suggest(arguments[0], names))
		},
	}
	return command
}
