// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/example/profiles"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// completeValues lets shells complete the values of flags that commands share. A flag for which there is nothing here, and that its command
// does not complete itself, is one for a file.
func completeValues(command *cobra.Command) {
	for name, values := range map[string]cobra.CompletionFunc{
		"color":      fixed(string(colourAuto), string(colourAlways), string(colourNever)),
		"kubernetes": kubernetesVersions,
		"from":       cobra.FixedCompletions(profiles.Names(), cobra.ShellCompDirectiveDefault), // or a path
		"parameter":  ofProfiles(func(d *profile.Document) []string { return withEqualSign(slices.Sorted(maps.Keys(d.Parameters))) }),
		"provider":   ofProfiles(func(d *profile.Document) []string { return d.Providers }),
		"set":        fixed(), "annotation": fixed(), "gardener-version": fixed(), "namespace": fixed(), "seed-provider": fixed(),
	} {
		flag := command.Flag(name)
		if flag == nil {
			continue
		}
		// Whoever has said already how the flag is completed knows better.
		if _, exists := command.GetFlagCompletionFunc(name); !exists {
			_ = command.RegisterFlagCompletionFunc(name, values) // fails for unknown flags only
		}
	}
	for _, below := range command.Commands() {
		completeValues(below)
	}
}

const noFile = cobra.ShellCompDirectiveNoFileComp

// fixed are values that never change; none for what nobody can guess.
func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, noFile)
}

// kubernetesVersions are those of which control planes are generated, the newest first.
func kubernetesVersions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	versions := scene.Versions()
	slices.Reverse(versions)
	return versions, noFile | cobra.ShellCompDirectiveKeepOrder
}

// ofProfiles are values from the profiles that the command line names so far; none where they cannot be read.
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

func withEqualSign(names []string) []string {
	for i := range names {
		names[i] += "="
	}
	return names
}
