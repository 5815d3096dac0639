// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// convertOptions are the flags of graft convert.
type convertOptions struct {
	before, after   []string
	known           []string
	provider, name  string
	into            string
	gardenerVersion string
	literal         bool
}

func newConvertCommand(s *Streams) *cobra.Command {
	o := &convertOptions{}
	command := &cobra.Command{
		Use:   "convert [BEFORE AFTER]",
		Short: "Propose a profile from objects before and after a webhook",
		Long: `Propose a profile from objects before and after a webhook.

BEFORE and AFTER are files or folders with manifests, such as what a control plane is without and with a provider's own webhook.
Objects are matched by kind and name. Several pairs, such as one for each version of Kubernetes, tell on what a difference depends:
give --before and --after several times. With the Cluster or the Shoot among the manifests, or in --known, values such as the region
are proposed as expressions.

The profile is tried out on the objects before. What it does not reproduce stands in it as a comment, and on standard error.

Exit status: 0 when the profile makes exactly this change; 1 when something is missing; 2 when it could not be done.`,
		Example: `  # from what two dumps of a control plane differ in
  graft convert docs/usage/convert/before.yaml docs/usage/convert/after.yaml --provider acme

  # from two versions of Kubernetes, with what is known of the shoot
  graft convert --known docs/usage/convert/shoot.yaml \
    --before docs/usage/convert/before.yaml --after docs/usage/convert/after.yaml \
    --before docs/usage/convert/before-1.33.yaml --after docs/usage/convert/after-1.33.yaml`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	set.StringArrayVar(&o.before, "before", nil, "manifests before the webhook: file or folder (repeatable, each with an --after)")
	set.StringArrayVar(&o.after, "after", nil, "manifests after the webhook (repeatable)")
	set.StringArrayVar(&o.known, "known", nil, "manifests of what is known of the control planes: Cluster, Shoot, Namespace, Garden (repeatable)")
	set.StringVar(&o.provider, "provider", "", "provider that the profile serves (default: that of the Shoot)")
	set.StringVar(&o.name, "name", "", "name of the profile (default: the provider)")
	set.StringVar(&o.into, "into", "", "set in which all rules stand: controlplane, controlplaneexposure or controlplanebackup "+
		"(default: where the contract has most need of each)")
	set.StringVar(&o.gardenerVersion, "gardener-version", "", "version of Gardener; today's without one")
	set.BoolVar(&o.literal, "literal", false, "propose no expressions in values")
	return command
}

func (o *convertOptions) run(command *cobra.Command, s *Streams, arguments []string) error {
	pairs, err := o.pairs(s, arguments)
	if err != nil {
		return err
	}
	known, err := manifest.Read(o.known, s.In)
	if err != nil {
		return err
	}
	cases, err := convert.Cases(pairs, known)
	if err != nil {
		return err
	}
	options, err := o.options(cases)
	if err != nil {
		return err
	}
	proposal, err := convert.Propose(command.Context(), cases, options)
	if err != nil {
		return err
	}
	if _, err := s.Out.Write(proposal.Profile); err != nil {
		return err
	}
	return o.report(s, proposal)
}

// pairs are those of the arguments and those of the flags.
func (o *convertOptions) pairs(s *Streams, arguments []string) ([]convert.Pair, error) {
	before, after := slices.Clone(o.before), slices.Clone(o.after)
	if len(arguments) == 2 {
		before, after = append(before, arguments[0]), append(after, arguments[1])
	}
	if len(arguments) == 1 || len(before) != len(after) || len(before) == 0 {
		return nil, errors.New("give what is before and what is after: graft convert BEFORE AFTER, or --before and --after as often as each other")
	}
	pairs := make([]convert.Pair, len(before))
	for i := range before {
		pairs[i].Name = pairName(after, i)
		var err error
		if pairs[i].Before, err = manifest.Read([]string{before[i]}, s.In); err != nil {
			return nil, err
		}
		if pairs[i].After, err = manifest.Read([]string{after[i]}, s.In); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// pairName is what the path of one pair has that those of the others do not have: the name of the file, or of a folder above. It is
// empty where the file is only called after.
func pairName(paths []string, i int) string {
	steps := func(path string) []string {
		path = filepath.ToSlash(filepath.Clean(path))
		if extension := filepath.Ext(path); slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			path = strings.TrimSuffix(path, extension)
		}
		return strings.Split(path, "/")
	}
	own := steps(paths[i])
	for n := 1; n <= len(own); n++ {
		name := own[len(own)-n]
		same := slices.ContainsFunc(paths, func(other string) bool {
			theirs := steps(other)
			return other != paths[i] && len(theirs) >= n && theirs[len(theirs)-n] == name
		})
		if !same {
			return strings.Trim(strings.TrimSuffix(strings.TrimPrefix(name, "after"), "after"), "-_.")
		}
	}
	return ""
}

func (o *convertOptions) options(cases []convert.Case) (convert.Options, error) {
	generation, err := contract.GenerationOf(o.gardenerVersion)
	if err != nil {
		return convert.Options{}, fmt.Errorf("reading --gardener-version: %w", err)
	}
	options := convert.Options{Provider: o.provider, Name: o.name, Set: target.Set(o.into), Generation: generation, Literal: o.literal}
	if options.Provider == "" {
		options.Provider = convert.ProviderOf(cases)
	}
	if options.Provider == "" {
		return options, errors.New("the manifests do not say which provider it is; name it with --provider")
	}
	if options.Name == "" {
		options.Name = options.Provider
	}
	if options.Set != "" && !slices.Contains(target.Sets(), options.Set) {
		return options, fmt.Errorf("--into %s: must be controlplane, controlplaneexposure or controlplanebackup", o.into)
	}
	return options, nil
}

// report says how far the profile goes.
func (o *convertOptions) report(s *Streams, proposal *convert.Proposal) error {
	differences := 0
	for _, count := range proposal.Differences {
		differences += count
	}
	fmt.Fprintf(s.Err, "%d of %s come out as they are after, by %s", proposal.Reproduced,
		counted(proposal.Objects, "object that differs", "objects that differ"), counted(differences, "argument of rules", "arguments of rules"))
	if patches := proposal.Differences["patch"]; patches > 0 {
		fmt.Fprintf(s.Err, ", %d of them patches", patches)
	}
	fmt.Fprintln(s.Err)
	if len(proposal.Missed) == 0 {
		return nil
	}
	lines := []string{"what the profile does not reproduce:"}
	for _, missed := range proposal.Missed {
		lines = append(lines, "  "+missed.String())
	}
	return found{strings.Join(lines, "\n")}
}

func counted(count int, one, more string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, more)
}
