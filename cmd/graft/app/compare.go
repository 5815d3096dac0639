// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// compareOptions are the flags of graft compare.
type compareOptions struct {
	profiles  profileFlags
	snapshots snapshotFlags
	matrix    compare.Matrix
	manifests []string
	output    differenceFlags
}

func newCompareCommand(s *Streams) *cobra.Command {
	o := &compareOptions{}
	command := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Show what another version of profiles changes, and for which shoots",
		Long: `Show what another version of profiles changes, and for which shoots.

OLD and NEW are files or folders with profiles. To compare with a version in git, check it out into a second
folder, such as with git worktree add ../before HEAD.

Both are applied to the control planes that Gardener creates for many shoots: each version of --kubernetes in
each of the --variants. A difference that several shoots have in common is shown once, with the list of these
shoots. --manifest uses given manifests of control planes, as graft diff does.

Exit status: 0; with --exit-code 1 if there are differences; 1 if NEW denies objects that OLD does not deny; 2
if the command failed.`,
		Example: `  # differences between two profiles
  graft compare example/profiles/openstack example/profiles/stackit

  # for highly available shoots of two versions, as a page to attach to a pull request
  graft compare example/profiles/openstack example/profiles/stackit --kubernetes 1.33,1.34 --variants ha -o html`,
		Args: exactly("two versions of profiles", 2),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), s, arguments[0], arguments[1])
		},
	}
	set := command.Flags()
	m := &o.matrix
	set.StringSliceVar(&m.Versions, "kubernetes", nil, "versions of the shoots, such as 1.33,1.34.2 (default: one of each known minor version)")
	set.StringSliceVar(&m.Variants, "variants", nil,
		"variants of the shoots: "+strings.Join(compare.Variants(), ", ")+" (default: each)")
	set.StringSliceVar(&m.Providers, "providers", nil, "providers of the shoots (default: the first of each profile)")
	set.StringArrayVarP(&o.manifests, "manifest", "f", nil, "manifests to use instead of generated control planes: file, folder or - (repeatable)")
	o.snapshots.addSharedTo(set)
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
		Old: compare.CompiledSide{Program: before.Program}, New: compare.CompiledSide{Program: after.Program}, OldName: oldName, NewName: newName,
		OldFiles: before.files(), NewFiles: after.files(),
	}
	if options.Snapshots, err = o.read(ctx, s, before, after); err != nil {
		return err
	}
	meter := newMeter(s, "shoot")
	options.Progress = meter.step
	result, err := compare.Run(ctx, options)
	meter.done()
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
	snapshots, err := m.Snapshots(ctx, snapshot.Command{})
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
