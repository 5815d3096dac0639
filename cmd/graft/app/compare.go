// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/revision"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// compareOptions are the flags of graft compare.
type compareOptions struct {
	profiles  profileFlags
	scenes    sceneFlags
	matrix    compare.Matrix
	manifests []string
	live      liveFlags
	namespace string
	output    comparisonFlags
}

// comparisonFlags say how a comparison is written.
type comparisonFlags struct {
	outputFlags
	context  int
	exitCode bool
}

func newCompareCommand(s *Streams) *cobra.Command {
	o := &compareOptions{}
	command := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Show what another version of profiles changes, and for which shoots",
		Long: `Show what another version of profiles changes, and for which shoots.

OLD and NEW are files or folders with profiles, also in a revision of git such as HEAD~1:profile.yaml. As in git, such a path is
relative to the root of the repository, or with ./ to the working directory.

Both are applied to the control planes that Gardener creates for many shoots: each version of --kubernetes in each of the
--variants. A difference that several shoots have in common is shown once, with the list of these shoots. --manifest uses given
manifests of control planes, as graft diff does. --live reads the control planes of a seed: the one of --namespace, or all with
rules in the profiles. Nothing is changed there.

Exit status: 0; with --exit-code 1 if there are differences; 1 if NEW denies objects that OLD does not deny; 2 if the command failed.`,
		Example: `  # changes of the last commit
  graft compare HEAD:example/profiles/openstack/profile.yaml example/profiles/openstack/profile.yaml

  # for highly available shoots of two versions, as a page to attach to a pull request
  graft compare HEAD:example/profiles/aws/profile.yaml example/profiles/aws/profile.yaml --kubernetes 1.33,1.34 --variants ha -o html`,
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
	set.SortFlags = false
	m := &o.matrix
	set.StringSliceVar(&m.Versions, "kubernetes", nil, "versions of the shoots, such as 1.33,1.34.2 (default: one of each known minor version)")
	set.StringSliceVar(&m.Variants, "variants", nil,
		"variants of the shoots: "+strings.Join(compare.Variants(), ", ")+", or several in one as in ha+ipv6 (default: each)")
	set.StringSliceVar(&m.Providers, "providers", nil, "providers of the shoots (default: the first of each profile)")
	set.StringArrayVarP(&o.manifests, "manifest", "f", nil, "manifests to use instead of generated control planes: file, folder or - (repeatable)")
	o.scenes.addSharedTo(set)
	o.live.addTo(set)
	set.StringVarP(&o.namespace, "namespace", "n", "", "with --live: namespace of the control plane (default: all)")
	o.profiles.addInstallationTo(set)
	o.output.addTo(command, render.Differences())
	set.IntVarP(&o.output.context, "context", "U", 1, "number of lines to show around changed ones")
	set.BoolVar(&o.output.exitCode, "exit-code", false, "exit with status 1 if there are differences")
	_ = command.RegisterFlagCompletionFunc("variants", fixed(compare.Variants()...))
	return command
}

func (o *compareOptions) run(ctx context.Context, s *Streams, oldName, newName string) error {
	before, err := o.side(ctx, oldName)
	if err != nil {
		return fmt.Errorf("reading OLD: %w", err)
	}
	after, err := o.side(ctx, newName)
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
	} else {
		result, err = o.compare(ctx, s, before, after, options)
	}
	if err != nil {
		return err
	}
	return o.output.write(s, result)
}

// compare compares on generated control planes, or on manifests.
func (o *compareOptions) compare(ctx context.Context, s *Streams, before, after *loaded, options compare.Options) (*compare.Result, error) {
	var err error
	if options.Scenes, err = o.read(ctx, s, before, after); err != nil {
		return nil, err
	}
	meter := newMeter(s, "shoot")
	defer meter.done()
	options.Progress = meter.step
	return compare.Run(ctx, options)
}

// side reads and compiles the profiles of one side.
func (o *compareOptions) side(ctx context.Context, name string) (*loaded, error) {
	files, err := revision.Read(ctx, name)
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
func (o *compareOptions) read(ctx context.Context, s *Streams, sides ...*loaded) ([]*scene.Scene, error) {
	if len(o.manifests) > 0 {
		return o.scenes.scenes(ctx, s, o.manifests, sides[1].Provider())
	}
	m := o.matrix
	var err error
	if m.Base, err = o.scenes.complete(""); err != nil {
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
	present, err := manifest.Read(o.scenes.present, s.In)
	if err != nil {
		return nil, err
	}
	scenes, err := m.Scenes(ctx, generator{})
	if err != nil {
		return nil, err
	}
	for _, one := range scenes {
		if err := one.Find(present...); err != nil {
			return nil, err
		}
		for _, side := range sides {
			one.Invent(side.Program.Lookups()...)
		}
	}
	return scenes, nil
}

// write writes the result and returns the error that determines the exit status.
func (f *comparisonFlags) write(s *Streams, result *compare.Result) error {
	style := s.style()
	if style.Context = f.context; f.context == 0 {
		style.Context = -1
	}
	format, err := render.Find(f.formats, f.format)
	if err != nil {
		return err
	}
	if f.file == "" {
		err = result.Write(s.Out, format, style)
	} else {
		style.Colour, style.Width = s.colour == colourAlways, 0
		err = writeFile(f.file, func(w io.Writer) error { return result.Write(w, format, style) })
	}
	if err != nil {
		return err
	}
	switch denied := result.Count(compare.NewlyDenied); {
	case denied == 1:
		return found{"1 object is newly denied"}
	case denied > 1:
		return found{fmt.Sprintf("%d objects are newly denied", denied)}
	}
	if err := incomplete(result); err != nil {
		return err
	}
	if f.exitCode && result.Differs() {
		return found{}
	}
	return nil
}
