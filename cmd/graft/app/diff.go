// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// diffOptions are the flags of graft diff.
type diffOptions struct {
	profiles  profileFlags
	snapshots snapshotFlags
	live      liveFlags
	output    differenceFlags
}

// differenceFlags say how differences are written.
type differenceFlags struct {
	outputFlags
	context  int
	exitCode bool
}

// addTo defines the flags. what names the differences in the description of --exit-code.
func (f *differenceFlags) addTo(command *cobra.Command, what string) {
	f.outputFlags.addTo(command, render.Differences())
	command.Flags().IntVarP(&f.context, "context", "U", 1, "number of lines to show around changed ones")
	command.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with status 1 if there are "+what)
}

func (f *differenceFlags) style(s *Streams) render.Style {
	style := s.style()
	if style.Context = f.context; f.context == 0 {
		style.Context = -1
	}
	return style
}

func newDiffCommand(s *Streams) *cobra.Command {
	o := &diffOptions{}
	command := &cobra.Command{
		Use:   "diff [KIND/NAME] [manifest|folder|-]...",
		Short: "Show the changes of profiles, with the rule of each line",
		Long: `Show the changes of profiles, with the rule of each line.

Without manifests it uses the control plane that Gardener creates for a shoot; flags describe the shoot.
Manifests may contain objects for the webhooks (Deployments, OperatingSystemConfigs, ...) and their context: the
Cluster or Shoot, the Namespace, and Secrets and ConfigMaps for lookups. With KIND/NAME, such as
deployment/kube-apiserver, only this object is shown.

--live reads the control planes of a seed. It compares the result of the installed webhooks, from a dry run,
with the result of the profiles. Nothing is changed there.

Exit status: 0; with --exit-code 1 if there are changes; 1 if an object is denied; 2 if the command failed.`,
		Example: `  # all changes to the control plane of a shoot
  graft diff -p example/profiles/openstack/profile.yaml --kubernetes 1.34.2

  # changes to one object
  graft diff deployment/kube-controller-manager -p example/profiles/openstack/profile.yaml --kubernetes 1.34.2

  # a highly available control plane in another region, as a comment for a pull request
  graft diff -p example/profiles/openstack/profile.yaml --ha --set region=eu-west-1 -o markdown`,
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	o.profiles.addTo(set)
	o.snapshots.addTo(set)
	o.live.addTo(set)
	set.BoolVar(&o.live.noDryRun, "no-dry-run", false, "with --live: compare with the stored objects, without a dry run of the installed webhooks")
	o.output.addTo(command, "changes")
	return command
}

func (o *diffOptions) run(command *cobra.Command, s *Streams, manifests []string) error {
	if err := o.live.check(command.Flags()); err != nil {
		return err
	}
	profiles, err := o.profiles.load()
	if err != nil {
		return err
	}
	if o.live.enabled {
		return o.runLive(command.Context(), s, manifests, profiles)
	}
	manifests, object := objectIn(manifests)
	snapshots, err := o.snapshots.snapshots(command.Context(), s, manifests, profiles.Provider())
	if err != nil {
		return err
	}
	if object != "" {
		if err := only(snapshots, object); err != nil {
			return err
		}
	}
	style := o.output.style(s)
	setHeadings(&style, profiles, snapshots)
	changes, err := admit(command.Context(), profiles, snapshots)
	if err != nil {
		return err
	}
	if err := o.output.write(s, style, changes); err != nil {
		return err
	}
	missed(s, changes)
	return o.status(changes)
}

// objectIn splits the arguments into manifests and the object KIND/NAME, which is no file.
func objectIn(arguments []string) (manifests []string, object string) {
	for _, argument := range arguments {
		if _, err := os.Stat(argument); err != nil && object == "" && strings.Count(argument, "/") == 1 && !strings.HasSuffix(argument, ".yaml") {
			object = argument
			continue
		}
		manifests = append(manifests, argument)
	}
	return manifests, object
}

// only keeps the named object of each control plane. If none has it, it returns the error of the first one, or that of
// one with several matches.
func only(snapshots []*snapshot.Snapshot, word string) error {
	var missing error
	found := false
	for _, one := range snapshots {
		object, err := explain.Find(one.Objects, word)
		switch {
		case errors.Is(err, explain.ErrAmbiguous):
			return err
		case err != nil:
			one.Objects, missing = nil, cmp.Or(missing, err)
		default:
			one.Objects, found = []manifest.Object{object}, true
		}
	}
	if found {
		return nil
	}
	return missing
}

// admit takes the objects of all snapshots through the profiles.
func admit(ctx context.Context, profiles *loaded, snapshots []*snapshot.Snapshot) ([]*render.Change, error) {
	var all []*render.Change
	for _, snapshot := range snapshots {
		if len(snapshot.Objects) == 0 {
			continue
		}
		changes, err := snapshot.Admit(ctx, profiles.Program)
		if err != nil {
			return nil, err
		}
		for _, change := range changes {
			if len(snapshots) > 1 {
				change.ControlPlane = snapshot.Title
			}
		}
		all = append(all, changes...)
	}
	return all, nil
}

// status returns the error that determines the exit status.
func (o *diffOptions) status(changes []*render.Change) error {
	denied := 0
	for _, change := range changes {
		if change.Denied != nil {
			denied++
		}
	}
	switch {
	case denied > 0:
		return found{counted(denied, "object is denied", "objects are denied")}
	case o.output.exitCode && slices.ContainsFunc(changes, (*render.Change).Changed):
		return found{}
	}
	return nil
}
