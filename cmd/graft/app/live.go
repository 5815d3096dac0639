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

	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

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

// check refuses flags about control planes that are not read from a seed: snapshotFlags, except the namespace, and
// --show-secrets. Without --live it refuses the flags about a seed.
func (f *liveFlags) check(given *pflag.FlagSet) error {
	if !f.enabled {
		if wrong := among(given, "kubeconfig", "kube-context", "no-dry-run"); len(wrong) > 0 {
			return fmt.Errorf("without --live no seed is read: add --live, or leave out %s", strings.Join(wrong, ", "))
		}
		return nil
	}
	refused, known := []string{"show-secrets"}, pflag.NewFlagSet("", pflag.ContinueOnError)
	(&snapshotFlags{}).addTo(known)
	known.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "namespace" {
			refused = append(refused, flag.Name)
		}
	})
	if wrong := among(given, refused...); len(wrong) > 0 {
		return fmt.Errorf("--live reads a seed; remove the flags for generated shoots: %s", strings.Join(wrong, ", "))
	}
	return nil
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

// read reads one control plane, or all those with rules in the program if no namespace is given.
func (f *liveFlags) read(ctx context.Context, s *Streams, namespace string, program *mutation.Program) (*live, error) {
	connected, err := seed.Connect(f.connection)
	if err != nil {
		return nil, err
	}
	names := []string{namespace}
	if namespace == "" {
		if names, err = connected.ControlPlanes(ctx, program); err != nil {
			return nil, fmt.Errorf("reading the seed %s: %w", connected.Host(), err)
		}
	}
	meter := newMeter(s, "control plane")
	planes, err := connected.Snapshots(ctx, names, meter.step, program)
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

// liveParallel is the number of control planes that are compared concurrently: they wait for the seed.
const liveParallel = 8

// runLive compares the objects in the seed, or the result of the installed webhooks, with the result of the profiles.
func (o *diffOptions) runLive(ctx context.Context, s *Streams, manifests []string, profiles *loaded) error {
	if len(manifests) > 0 {
		return errors.New("--live reads the objects of a seed: remove the manifests from the command")
	}
	l, err := o.live.read(ctx, s, o.snapshots.options.Namespace, profiles.Program)
	if err != nil {
		return err
	}
	options := compare.Options{
		New: compare.CompiledSide{Program: profiles.Program}, NewName: strings.Join(profiles.files(), ", "), NewFiles: profiles.files(),
		Snapshots: l.snapshots, Parallel: liveParallel,
	}
	known := []*mutation.Program{profiles.Program}
	if found := l.installed(ctx, profiles.Program, o.profiles.compile); found != nil {
		known = append(known, found)
		options.More = seed.Leftovers{Old: found, New: profiles.Program}.Effects
		if err := l.seed.Extend(ctx, l.planes, found); err != nil {
			return err
		}
	}
	options.Old, options.OldName = compare.Side(seed.NewInstalled(l.seed, known...)), "the webhooks installed in the seed "+l.seed.Host()
	if o.live.noDryRun {
		options.Old, options.OldName = seed.Stored{}, "the objects in the seed "+l.seed.Host()
	}
	for _, version := range l.others(known...) {
		l.notes = append(l.notes, version+", which is in no ConfigMap of the seed: values that only its rules wrote into pod templates, units and files "+
			"are not seen here")
	}
	options.Notes = l.notes
	meter := newMeter(s, "control plane")
	options.Progress = meter.step
	result, err := compare.Run(ctx, options)
	meter.done()
	if err != nil {
		return err
	}
	result.Incomplete = l.incomplete
	return o.output.writeComparison(s, result)
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
