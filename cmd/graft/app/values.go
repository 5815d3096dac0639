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

// completeValues adds shell completions for values of flags that commands share. A flag without an entry here or in its
// command takes a file.
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
		// The command's own completion has precedence.
		if _, exists := command.GetFlagCompletionFunc(name); !exists {
			_ = command.RegisterFlagCompletionFunc(name, values) // fails for unknown flags only
		}
	}
	for _, below := range command.Commands() {
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
	versions := scene.Versions()
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

func withEqualSign(names []string) []string {
	for i := range names {
		names[i] += "="
	}
	return names
}
