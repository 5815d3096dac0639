// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

// testOptions are the flags of graft test.
type testOptions struct {
	profiles []string
	run      string
	update   bool
	verbose  bool
	junit    string
}

// testers returns the testers of all kinds of documents with the data for their tests. To add one: one line here.
func (o *testOptions) testers() []golden.Tester {
	return []golden.Tester{
		controlplane.New(snapshot.Command{}, o.profiles...),
		interpreter.New(o.profiles...),
	}
}

func newTestCommand(s *Streams) *cobra.Command {
	o := &testOptions{}
	command := &cobra.Command{
		Use:   "test [file|folder]...",
		Short: "Run the tests of profiles",
		Long: `Run the tests of profiles: documents of kind ProviderProfileTest or InterpreterProfileTest in files and folders
(default: the working directory).

A case for a ProviderProfile sends a control plane through the webhooks and compares the objects with
expectations and golden files. Each object is sent twice; the second time must not change it. A case for an
InterpreterProfile compares the answers to Karmada.

Exit status: 0; 1 if a case fails; 2 if the tests could not run.`,
		Example: `  # tests of InterpreterProfiles
  graft test example/interpreter

  # cases of one provider with "ha" in their name; -v lists passed cases
  graft test example/profiles/openstack --run ha -v

  # update the golden files; review the difference before you commit it
  graft test example/profiles/openstack --update

  # for a pipeline
  graft test example/profiles/openstack --junit junit.xml`,
		RunE: func(command *cobra.Command, arguments []string) error { return o.test(command.Context(), s, arguments) },
	}
	set := command.Flags()
	set.StringArrayVarP(&o.profiles, "profile", "p", nil, "profiles for tests that name none (repeatable; default: the nearest profile.yaml in the folder or above)")
	set.StringVar(&o.run, "run", "", "run only cases whose path and name match this regular expression")
	set.BoolVar(&o.update, "update", false, "update golden files, and remove those without a case; failing cases keep theirs")
	set.BoolVarP(&o.verbose, "verbose", "v", false, "also list passed cases")
	set.StringVar(&o.junit, "junit", "", "file for a JUnit report")
	return command
}

func (o *testOptions) test(ctx context.Context, s *Streams, paths []string) error {
	pattern, err := regexp.Compile(o.run)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	began := time.Now()
	tests, err := golden.Find(o.testers(), paths...)
	if err == nil && o.run != "" {
		tests, err = tests.Only(pattern)
	}
	if err != nil {
		return err
	}
	if err := golden.Prepare(ctx, tests.Cases); err != nil {
		return err
	}
	meter := newMeter(s, "case")
	results, err := golden.Run(ctx, tests.Cases, meter.step)
	meter.done()
	if err != nil {
		return err
	}
	if o.update {
		if err := o.write(ctx, s, results, tests.Stale); err != nil {
			return err
		}
	}
	return o.report(s, results, tests.Stale, time.Since(began))
}

// write writes golden files, and prints their names.
func (o *testOptions) write(ctx context.Context, s *Streams, results []golden.Result, stale []string) error {
	updated, err := golden.Update(ctx, results, stale)
	for _, path := range updated.Written {
		fmt.Fprintln(s.Err, "wrote", path)
	}
	for _, path := range updated.Removed {
		fmt.Fprintln(s.Err, "removed", path)
	}
	for _, kept := range updated.Kept {
		fmt.Fprintln(s.Err, "not written, as the case fails:", kept.ID())
	}
	return err
}

// report writes the results, and fails if cases failed.
func (o *testOptions) report(s *Streams, results []golden.Result, stale []string, took time.Duration) error {
	if o.junit != "" {
		report, err := golden.JUnit(results)
		if err == nil {
			err = whole.WriteDeep(o.junit, report)
		}
		if err != nil {
			return fmt.Errorf("writing --junit: %w", err)
		}
	}
	if err := (golden.Style{Verbose: o.verbose, Colour: s.Colour()}).Write(s.Out, results, took); err != nil {
		return err
	}
	if len(stale) > 0 && !o.update {
		fmt.Fprintf(s.Err, "%d golden files are not used by a case, such as %s; --update removes them\n", len(stale), stale[0])
	}
	if !golden.Summarize(results).OK() {
		return found{}
	}
	return nil
}
