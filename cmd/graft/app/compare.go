// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// compareOptions are the flags of graft compare.
type compareOptions struct {
	profiles  profileFlags
	snapshots snapshotFlags
	matrix    compare.Matrix
	manifests []string
	live      liveFlags
	namespace string
	output    differenceFlags
}

func newCompareCommand(s *Streams) *cobra.Command {
	o := &compareOptions{}
	command := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Show what another version of profiles changes, and for which shoots",
		Long: `Show what another version of profiles changes, and for which shoots.

OLD and NEW are files or folders with profiles. To compare with a version in git, check it out into a second folder, such as
with git worktree add ../before HEAD.

Both are applied to the control planes that Gardener creates for many shoots: each version of --kubernetes in each of the
--variants. A difference that several shoots have in common is shown once, with the list of these shoots. --manifest uses given
manifests of control planes, as graft diff does. --live reads the control planes of a seed: the one of --namespace, or all with
rules in the profiles. Nothing is changed there.

Exit status: 0; with --exit-code 1 if there are differences; 1 if NEW denies objects that OLD does not deny; 2 if the command failed.`,
		Example: `  # differences between two profiles
  graft compare example/profiles/openstack example/profiles/stackit

  # for highly available shoots of two versions, as a page to attach to a pull request
  graft compare example/profiles/openstack example/profiles/stackit --kubernetes 1.33,1.34 --variants ha -o html`,
		Args: exactly("two versions of profiles", 2),
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := o.live.check(command.Flags(), "variants", "providers", "manifest"); err != nil {
				return err
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return o.run(command.Context(), s, arguments[0], arguments[1])
		},
	}
	set := command.Flags()
	m := &o.matrix
	set.StringSliceVar(&m.Versions, "kubernetes", nil, "versions of the shoots, such as 1.33,1.34.2 (default: one of each known minor version)")
	set.StringSliceVar(&m.Variants, "variants", nil,
		"variants of the shoots: "+strings.Join(compare.Variants(), ", ")+", or several in one as in ha+ipv6 (default: each)")
	set.StringSliceVar(&m.Providers, "providers", nil, "providers of the shoots (default: the first of each profile)")
	set.StringArrayVarP(&o.manifests, "manifest", "f", nil, "manifests to use instead of generated control planes: file, folder or - (repeatable)")
	o.snapshots.addSharedTo(set)
	o.live.addTo(set)
	set.StringVarP(&o.namespace, "namespace", "n", "", "with --live: namespace of the control plane (default: all)")
	o.profiles.addInstallationTo(set)
	o.output.addTo(command, "differences")
	_ = command.RegisterFlagCompletionFunc("variants", fixed(compare.Variants()...))
	return command
}

func (o *compareOptions) run(ctx context.Context, s *Streams, oldName, newName string) error {
	before, err := o.side(oldName)
	if err != nil {
		return fmt.Errorf("reading OLD: %w", err)
	}
	after, err := o.side(newName)
	if err != nil {
		return fmt.Errorf("reading NEW: %w", err)
	}
	options := compare.Options{
		Old: compare.Program{Program: before.Program}, New: compare.Program{Program: after.Program}, OldName: oldName, NewName: newName,
		OldFiles: before.files(), NewFiles: after.files(),
	}
	var result *compare.Result
	if o.live.enabled {
		result, err = o.live.compare(ctx, s, o.namespace, before, after, options)
	} else if options.Snapshots, err = o.read(ctx, s, before, after); err == nil {
		meter := newMeter(s, "shoot")
		options.Progress = meter.step
		result, err = compare.Run(ctx, options)
		meter.done()
	}
	if err != nil {
		return err
	}
	return o.output.writeComparison(s, result)
}

// side reads and compiles the profiles of one side.
func (o *compareOptions) side(name string) (*loaded, error) {
	files, err := folder.ReadNamed(name)
	if err != nil {
		return nil, err
	}
	return o.profiles.compile(files)
}

// files returns the names of the profiles' files.
func (l *loaded) files() []string {
	var names []string
	for _, document := range l.Documents {
		names = append(names, document.Node.Position().File)
	}
	return names
}

// read gives the shoots: those of manifests, or generated ones.
func (o *compareOptions) read(ctx context.Context, s *Streams, sides ...*loaded) ([]*snapshot.Snapshot, error) {
	if len(o.manifests) > 0 {
		return o.snapshots.snapshots(ctx, s, o.manifests, sides[1].Provider())
	}
	m := o.matrix
	var err error
	if m.Base, err = o.snapshots.complete(""); err != nil {
		return nil, err
	}
	for _, side := range sides {
		for _, document := range side.Documents {
			if o.matrix.Providers == nil && len(document.Providers) > 0 && !slices.Contains(m.Providers, document.Providers[0]) {
				m.Providers = append(m.Providers, document.Providers[0])
			}
		}
		for _, registration := range side.Program.Registrations() {
			m.Garden = m.Garden || registration.Garden
		}
	}
	present, err := manifest.Read(o.snapshots.present, s.In)
	if err != nil {
		return nil, err
	}
	snapshots, err := m.Snapshots(ctx, snapshot.Program{})
	if err != nil {
		return nil, err
	}
	for _, one := range snapshots {
		if err := one.Find(present...); err != nil {
			return nil, err
		}
		for _, side := range sides {
			one.Invent(side.Program.Lookups()...)
		}
	}
	return snapshots, nil
}

// writeComparison writes the result and returns the error that determines the exit status.
func (f *differenceFlags) writeComparison(s *Streams, result *compare.Result) error {
	if err := f.to(s, f.style(s), result.Write); err != nil {
		return err
	}
	denied := result.Count(compare.NewlyDenied)
	switch {
	case denied > 0:
		return found{counted(denied, "object is newly denied", "objects are newly denied")}
	case result.Count(compare.Unknown) > 0:
		return errors.New("some objects could not be compared")
	case result.Incomplete:
		return errors.New("some control planes could not be read")
	case f.exitCode && result.Differs():
		return found{}
	}
	return nil
}

// liveFlags say that a seed is read, and which.
type liveFlags struct {
	enabled    bool
	connection seed.Connection
	noDryRun   bool
}

func (f *liveFlags) addTo(set *pflag.FlagSet) {
	set.BoolVar(&f.enabled, "live", false, "read the control planes of a seed instead of generated ones; the seed is not changed")
	set.StringVar(&f.connection.Kubeconfig, "kubeconfig", "", "with --live: kubeconfig of the seed (default: KUBECONFIG, or ~/.kube/config)")
	set.StringVar(&f.connection.Context, "kube-context", "", "with --live: context in the kubeconfig (default: the current one)")
}

// addDryRunTo defines the flag of commands that ask the installed webhooks.
func (f *liveFlags) addDryRunTo(set *pflag.FlagSet) {
	set.BoolVar(&f.noDryRun, "no-dry-run", false, "with --live: compare with the stored objects, without a dry run of the installed webhooks")
}

// check refuses flags about control planes that are not read from a seed: snapshotFlags, except the namespace, and the
// named ones. Without --live it refuses the flags about a seed.
func (f *liveFlags) check(given *pflag.FlagSet, others ...string) error {
	if !f.enabled {
		if wrong := among(given, "kubeconfig", "kube-context", "no-dry-run"); len(wrong) > 0 {
			return fmt.Errorf("without --live no seed is read: add --live, or leave out %s", strings.Join(wrong, ", "))
		}
		return nil
	}
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&snapshotFlags{}).addTo(known)
	known.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "namespace" {
			others = append(others, flag.Name)
		}
	})
	wrong := among(given, others...)
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("--live reads a seed; remove the flags for generated shoots: %s", strings.Join(wrong, ", "))
}

// among returns the names that were given as flags.
func among(given *pflag.FlagSet, names ...string) []string {
	var found []string
	given.Visit(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			found = append(found, "--"+flag.Name)
		}
	})
	return found
}

// live are control planes of a seed.
type live struct {
	seed   *seed.Seed
	planes []*seed.Plane
	// snapshots are those of the readable control planes; incomplete reports that the notes name others.
	snapshots  []*snapshot.Snapshot
	incomplete bool
	notes      []string
}

// read reads one control plane, or all those with rules in the programs if no namespace is given.
func (f *liveFlags) read(ctx context.Context, s *Streams, namespace string, programs ...*mutation.Program) (*live, error) {
	connected, err := seed.Connect(f.connection)
	if err != nil {
		return nil, err
	}
	names := []string{namespace}
	if namespace == "" {
		if names, err = connected.ControlPlanes(ctx, programs...); err != nil {
			return nil, fmt.Errorf("reading the seed %s: %w", connected.Host(), err)
		}
	}
	meter := newMeter(s, "control plane")
	planes, err := connected.Snapshots(ctx, names, meter.step, programs...)
	meter.done()
	if err != nil {
		return nil, fmt.Errorf("reading the seed %s: %w", connected.Host(), err)
	}
	if len(planes) == 1 && planes[0].Err != nil {
		return nil, fmt.Errorf("reading the seed %s: %w", connected.Host(), planes[0].Err)
	}
	l := &live{seed: connected, planes: planes}
	for _, plane := range planes {
		if plane.Err != nil {
			l.incomplete, l.notes = true, append(l.notes, fmt.Sprintf("%s could not be read: %v", plane.Name, plane.Err))
			continue
		}
		l.snapshots = append(l.snapshots, plane.Snapshot)
	}
	return l, nil
}

// run compares two sides on the control planes and reports missing data.
func (l *live) run(ctx context.Context, s *Streams, o compare.Options) (*compare.Result, error) {
	meter := newMeter(s, "control plane")
	o.Snapshots, o.Notes, o.Incomplete = l.snapshots, l.notes, l.incomplete
	o.Progress, o.Parallel = meter.step, liveParallel
	result, err := compare.Run(ctx, o)
	meter.done()
	return result, err
}

// liveParallel is the number of control planes that are compared concurrently: they wait for the seed.
const liveParallel = 8

// runDiff runs graft diff --live.
func (f *liveFlags) runDiff(ctx context.Context, s *Streams, o *diffOptions, manifests []string, profiles *loaded) error {
	if len(manifests) > 0 {
		return errors.New("--live reads the objects of a seed: remove the manifests from the command")
	}
	result, err := f.diff(ctx, s, o.snapshots.options.Namespace, profiles, o.profiles.compile)
	if err != nil {
		return err
	}
	return o.output.writeComparison(s, result)
}

// diff compares the objects in the seed, or the result of the installed webhooks, with the result of the profiles.
func (f *liveFlags) diff(ctx context.Context, s *Streams, namespace string, profiles *loaded, compile func([]source.File) (*loaded, error)) (*compare.Result, error) {
	l, err := f.read(ctx, s, namespace, profiles.Program)
	if err != nil {
		return nil, err
	}
	o := compare.Options{New: compare.Program{Program: profiles.Program}, NewName: strings.Join(profiles.files(), ", "), NewFiles: profiles.files()}
	known := []*mutation.Program{profiles.Program}
	if found := l.installed(ctx, profiles.Program, compile); found != nil {
		known = append(known, found)
		o.More = seed.Leftovers{Old: found, New: profiles.Program}.Effects
		if err := l.seed.Extend(ctx, l.planes, found); err != nil {
			return nil, err
		}
	}
	o.Old, o.OldName = compare.Side(seed.NewInstalled(l.seed, known...)), "the webhooks installed in the seed "+l.seed.Host()
	if f.noDryRun {
		o.Old, o.OldName = seed.Stored{}, "the objects in the seed "+l.seed.Host()
	}
	for _, version := range l.others(known...) {
		l.notes = append(l.notes, version+", which is in no ConfigMap of the seed: values that only its rules wrote into pod templates, units and files are not "+
			"seen here; `graft compare --live OLD NEW` sees it")
	}
	return l.run(ctx, s, o)
}

// installed returns the profiles in ConfigMaps of the seed that are named by the marks of objects. It returns nil if
// there are none, or they are unreadable.
func (l *live) installed(ctx context.Context, other *mutation.Program, compile func([]source.File) (*loaded, error)) *mutation.Program {
	if len(l.others(other)) == 0 {
		return nil
	}
	files, err := l.seed.Profiles(ctx)
	if err != nil {
		return nil
	}
	counts, named := seed.Versions(l.planes), map[string]bool{}
	var wanted []source.File
	for _, file := range files {
		documents, _ := profile.Load(file)
		for _, document := range documents {
			version := mutation.ProfileVersion{Name: document.Metadata.Name, Hash: document.Hash}.Version()
			if counts[version] > 0 && !named[document.Metadata.Name] {
				named[document.Metadata.Name] = true
				wanted = append(wanted, file)
				break
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found, err := compile(wanted)
	if err != nil {
		return nil
	}
	return found.Program
}

// compare compares two versions of profiles on the objects in the seed.
func (f *liveFlags) compare(ctx context.Context, s *Streams, namespace string, before, after *loaded, o compare.Options) (*compare.Result, error) {
	l, err := f.read(ctx, s, namespace, before.Program, after.Program)
	if err != nil {
		return nil, err
	}
	for _, version := range l.others(before.Program) {
		l.notes = append(l.notes, version+", which is not OLD: values that only those rules wrote into pod templates, units and files are not seen")
	}
	o.More = seed.Leftovers{Old: before.Program, New: after.Program}.Effects
	return l.run(ctx, s, o)
}

// others returns the versions of other profiles that mutated objects, with the number of objects.
func (l *live) others(programs ...*mutation.Program) []string {
	known := map[string]bool{"": true}
	for _, program := range programs {
		for _, version := range program.Profiles() {
			known[version.Version()] = true
		}
	}
	var found []string
	counts := seed.Versions(l.planes)
	for _, version := range slices.Sorted(maps.Keys(counts)) {
		if !known[version] {
			found = append(found, fmt.Sprintf("%d objects were written under %s", counts[version], version))
		}
	}
	return found
}
