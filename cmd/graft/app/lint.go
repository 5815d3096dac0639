// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/lint"
)

// lintOptions are the flags of graft lint.
type lintOptions struct {
	installation profileFlags
	kubernetes   string
	output       string
	failOn       string
	fix, dryRun  bool
	together     bool
	explain      string
	rules        bool
}

func newLintCommand(s *Streams) *cobra.Command {
	o := &lintOptions{output: "text", failOn: "error"}
	command := &cobra.Command{
		Use:   "lint [file|folder|-]...",
		Short: "Check profiles, and fix findings",
		Long: `Check profiles, and fix findings.

lint runs the checks of the webhook for new profiles and reports all findings. It reads files, folders with
their subfolders (default: the working directory), and standard input for -. In folders it ignores files that
are not Graft documents, and lists them. Each file is checked separately; --together checks that one
installation can have all profiles.

Each finding has a rule, and each rule has a page: --explain prints it, --rules lists them. --fix applies
unambiguous fixes; with --dry-run it shows the difference instead.

Exit status: 0; 1 if there are findings of the level --fail-on; 2 if the files could not be read.`,
		Example: `  # all files of a folder
  graft lint example/profiles/metal

  # can one installation have both profiles?
  graft lint --together example/profiles/openstack/profile.yaml example/profiles/aws/profile.yaml

  # fixes, without writing
  graft lint example/profiles/metal --fix --dry-run`,
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	set.StringVarP(&o.output, "output", "o", o.output, "output format: "+strings.Join(lint.Formats, ", "))
	set.StringVar(&o.failOn, "fail-on", o.failOn, "lowest level for exit status 1: error or warning")
	set.BoolVar(&o.fix, "fix", false, "apply fixes that are unambiguous, and report the remaining findings")
	set.BoolVar(&o.dryRun, "dry-run", false, "with --fix: show the difference without writing")
	set.BoolVar(&o.together, "together", false, "check the profiles of all files as one installation")
	set.StringVar(&o.explain, "explain", "", "print the page of a rule")
	set.BoolVar(&o.rules, "rules", false, "list all rules")
	set.StringVar(&o.kubernetes, "kubernetes", "", "constraint on the versions of Kubernetes, such as \">= 1.33\" (default: all known versions)")
	o.installation.addInstallationTo(set)
	choices(command, "output", lint.Formats...)
	choices(command, "fail-on", source.Error.String(), source.Warning.String())
	_ = command.RegisterFlagCompletionFunc("kubernetes", fixed())
	_ = command.RegisterFlagCompletionFunc("explain", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return ruleNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return command
}

func (o *lintOptions) run(command *cobra.Command, s *Streams, paths []string) error {
	switch {
	case o.explain != "":
		return explainRule(s, o.explain)
	case o.rules:
		listRules(s)
		return nil
	case o.dryRun && !o.fix:
		return errors.New("--dry-run needs --fix")
	case o.fix && !o.dryRun && slices.Contains(paths, "-"):
		return errors.New("--fix needs files and cannot write to standard input")
	}
	options, err := o.options()
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	inputs, err := lint.Read(paths, s.In)
	if err != nil {
		return err
	}
	report, err := o.check(s, options, inputs, lint.Style{Colour: s.Colour(), Width: s.Width, Version: command.Root().Version})
	if err != nil {
		return err
	}
	if report.Files == 0 {
		left := report.Left()
		if left != "" {
			left = "; " + left
		}
		return fmt.Errorf("no document was found in %s: name files, or folders with files that end in .yaml%s", strings.Join(paths, ", "), left)
	}
	least := source.Error
	if o.failOn == source.Warning.String() {
		least = source.Warning
	}
	if report.Failed(least) {
		return found{}
	}
	return nil
}

// options checks the flags.
func (o *lintOptions) options() (lint.Options, error) {
	installation, err := o.installation.options()
	if err != nil {
		return lint.Options{}, err
	}
	if o.kubernetes != "" {
		if installation.Kubernetes, err = semver.NewConstraint(o.kubernetes); err != nil {
			return lint.Options{}, fmt.Errorf("--kubernetes %s: must be a constraint, such as \">= 1.33\" or \">= 1.31, < 1.35\"", o.kubernetes)
		}
	}
	return lint.Options{Options: installation, Override: o.installation.override, Together: o.together}, nil
}

// check returns the report of the files, after fixing them if requested.
func (o *lintOptions) check(s *Streams, options lint.Options, inputs []lint.Input, style lint.Style) (*lint.Report, error) {
	if !o.fix {
		report := lint.Check(options, inputs)
		if report.Files == 0 {
			return report, nil
		}
		return report, report.Write(s.Out, o.output, style)
	}
	repaired, left := lint.Repair(options, inputs)
	if o.dryRun {
		for _, file := range repaired {
			fmt.Fprint(s.Out, file.Diff())
		}
		return lint.Run(options, inputs), nil
	}
	if err := writeFixes(s, repaired); err != nil || left.Files == 0 {
		return left, err
	}
	return left, left.Write(s.Out, o.output, style)
}

// writeFixes writes the fixed files and prints the fixes.
func writeFixes(s *Streams, repaired []lint.Repaired) error {
	for _, file := range repaired {
		if err := file.Write(); err != nil {
			return err
		}
		for _, line := range file.Said() {
			fmt.Fprintln(s.Err, "fixed", line)
		}
	}
	return nil
}

func ruleNames() []string {
	var names []string
	for _, page := range lint.Pages() {
		names = append(names, string(page.Rule))
	}
	return names
}

func explainRule(s *Streams, name string) error {
	page := lint.PageOf(source.LintRule(name))
	if page == nil {
		return fmt.Errorf("--explain %s: unknown rule%s; --rules lists the rules", name, source.Suggest(name, ruleNames()))
	}
	fmt.Fprint(s.Out, page.Text())
	return nil
}

func listRules(s *Streams) {
	width := 0
	for _, page := range lint.Pages() {
		width = max(width, len(page.Rule))
	}
	for _, page := range lint.Pages() {
		fmt.Fprintf(s.Out, "%-*s  %s\n", width, page.Rule, page.Summary)
	}
}
