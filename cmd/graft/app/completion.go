// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// choicesKey is the annotation of flags with the only values that they take.
const choicesKey = "graft_choices"

// choices restricts a flag to values, which may have a description behind a tab. Shells complete them, and checkChoices
// refuses others.
func choices(command *cobra.Command, name string, values ...string) {
	known := make([]string, len(values))
	for i, value := range values {
		known[i], _, _ = strings.Cut(value, "\t")
	}
	command.Flag(name).Annotations = map[string][]string{choicesKey: known}
	_ = command.RegisterFlagCompletionFunc(name, fixed(values...)) // fails for unknown flags only
}

// checkChoices returns an error for a flag with a value that is none of its choices.
func checkChoices(command *cobra.Command, _ []string) (err error) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		known, value := flag.Annotations[choicesKey], flag.Value.String()
		if err == nil && known != nil && !slices.Contains(known, value) {
			err = fmt.Errorf("--%s %s: must be one of %s", flag.Name, value, strings.Join(known, ", "))
		}
	})
	return err
}

// freeFlags are flags with values that cannot be guessed and are no files.
var freeFlags = []string{
	"address", "annotation", "cloud", "etcd", "field", "flag", "gardener-version", "gate", "held-longer-than", "name", "namespace",
	"nic", "node", "owner", "pool", "prefix", "replicas", "run", "seed-provider", "service", "set", "tag", "timeout", "url", "version",
}

// completeValues adds shell completions for values of flags that commands share, and keeps the order of flags. A flag
// without an entry here, among freeFlags or in its command takes a file.
func completeValues(command *cobra.Command) {
	shared := map[string]cobra.CompletionFunc{
		"kubernetes": kubernetesVersions,
		"parameter": ofProfiles(func(d *profile.Document) (names []string) {
			for name := range d.Parameters {
				names = append(names, name+"=")
			}
			return names
		}),
		"provider": ofProfiles(func(d *profile.Document) []string { return d.Providers }),
	}
	for _, name := range freeFlags {
		shared[name] = fixed()
	}
	for name, values := range shared {
		flag := command.Flag(name)
		if flag == nil {
			continue
		}
		// The command's own completion has precedence.
		if _, exists := command.GetFlagCompletionFunc(name); !exists {
			_ = command.RegisterFlagCompletionFunc(name, values) // fails for unknown flags only
		}
	}
	for _, below := range command.Commands() {
		below.Flags().SortFlags = false
		completeValues(below)
	}
}

const noFile = cobra.ShellCompDirectiveNoFileComp

// fixed completes constant values, or none if values cannot be guessed.
func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, noFile)
}

// kubernetesVersions completes the versions of generated control planes, newest first.
func kubernetesVersions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	versions := snapshot.Versions()
	slices.Reverse(versions)
	return versions, noFile | cobra.ShellCompDirectiveKeepOrder
}

// ofProfiles completes values from the profiles given on the command line so far, or none if they are unreadable.
func ofProfiles(values func(*profile.Document) []string) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		paths, _ := command.Flags().GetStringArray("profile")
		files, err := (&profileFlags{paths: paths}).read()
		if err != nil {
			return nil, noFile
		}
		documents, _ := profile.Load(files...)
		var out []string
		for _, document := range documents {
			out = append(out, values(document)...)
		}
		slices.Sort(out)
		return slices.Compact(out), noFile | cobra.ShellCompDirectiveNoSpace
	}
}

//go:embed assets/words.bash
var bashWords string

func newCompletionCommand(*Streams) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
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
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			root, out := command.Root(), command.OutOrStdout()
			switch shell := arguments[0]; shell {
			case "bash":
				if err := root.GenBashCompletionV2(out, true); err != nil {
					return err
				}
				_, err := io.WriteString(out, bashWords)
				return err
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			default:
				return fmt.Errorf("unknown shell %q%s; there are bash, zsh, fish and powershell", shell, source.Suggest(shell, shells))
			}
		},
	}
}
