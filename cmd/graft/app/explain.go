// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// explainOptions are the flags of graft explain.
type explainOptions struct {
	profiles  profileFlags
	snapshots snapshotFlags
	live      liveFlags
	manifests []string
	output    string
}

func newExplainCommand(s *Streams) *cobra.Command {
	o := &explainOptions{}
	command := &cobra.Command{
		Use:   "explain [KIND/NAME | TOPIC [NAME]]",
		Short: "Explain the rules for an object, or find the versions of a flag",
		Long: `Explain which rules change an object and why, or find the versions of a flag, feature gate or admission plugin.

For an object (KIND/NAME, such as deployment/kube-apiserver) it shows each rule: whether it was applied, the
value of each part of its condition, its writes, and the rule that overrides it. The object comes from the
control plane that Gardener creates for a shoot; flags describe the shoot. -f reads it from manifests, --live
from a seed. Values of Secrets are hidden.

For the rules of InterpreterProfiles, use ` + "`graft interpreter ask`" + `.

With a topic it lists the Kubernetes versions of a flag, a feature gate or an admission plugin. This needs no profile.

Exit status: 0; 1 if the object is denied; 2 if the command failed.`,
		Example: `  # why rules apply or do not apply to the kube-apiserver
  graft explain deployment/kube-apiserver -p example/profiles/openstack/profile.yaml --kubernetes 1.33.5

  # versions of a feature gate
  graft explain gate VolumeAttributesClass`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeExplained,
		RunE:              func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	set.StringArrayVarP(&o.manifests, "filename", "f", nil, "manifests with the object, instead of a generated control plane: file, folder or - (repeatable)")
	o.profiles.addTo(set)
	o.snapshots.addTo(set)
	o.live.addTo(set)
	set.StringVarP(&o.output, "output", "o", "text", "`format`: text, json")
	choices(command, "output", "text", "json")
	return command
}

// completeExplained completes topics, their entries, and the objects of the contract.
func completeExplained(_ *cobra.Command, arguments []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var offered []cobra.Completion
	for _, one := range explain.Complete(arguments, begun) {
		if strings.HasPrefix(one, begun) {
			offered = append(offered, one)
		}
	}
	return offered, noFile | cobra.ShellCompDirectiveKeepOrder
}

func (o *explainOptions) run(command *cobra.Command, s *Streams, words []string) error {
	if explain.IsStatic(words) {
		return o.static(s, words)
	}
	if len(words) > 1 {
		return fmt.Errorf("one object can be explained at a time, these are %s", strings.Join(words, ", "))
	}
	if err := o.live.check(command.Flags()); err != nil {
		return err
	}
	profiles, err := o.profiles.load()
	if err != nil {
		return err
	}
	snapshots, err := o.read(command.Context(), s, profiles)
	if err != nil {
		return err
	}
	several := len(snapshots) > 1
	if err := only(snapshots, words[0]); err != nil {
		return err
	}
	snapshots = slices.DeleteFunc(snapshots, func(s *snapshot.Snapshot) bool { return len(s.Objects) == 0 })
	denied := false
	for i, one := range snapshots {
		if several && o.output == "text" {
			fmt.Fprintf(s.Out, "%s%s\n\n", strings.Repeat("\n", min(i, 1)), one.Title)
		}
		named := one.Objects[0]
		object, err := explain.Of(command.Context(), profiles.Program, named.JSON, one.Admission(one.Old[snapshot.OldKey(named)]), one.Source())
		if err != nil {
			return err
		}
		if o.output == "json" {
			err = render.WriteJSON(s.Out, object)
		} else {
			err = object.Write(s.Out, explain.TextStyle(s.style()))
		}
		if err != nil {
			return err
		}
		if len(object.Missing) > 0 {
			fmt.Fprintln(s.Err, aboutPresent)
		}
		denied = denied || object.Denied != ""
	}
	if denied {
		return found{}
	}
	return nil
}

// read reads the control planes: of manifests, generated, or those of a seed.
func (o *explainOptions) read(ctx context.Context, s *Streams, profiles *loaded) ([]*snapshot.Snapshot, error) {
	if !o.live.enabled {
		return o.snapshots.snapshots(ctx, s, o.manifests, profiles.Provider())
	}
	switch {
	case len(o.manifests) > 0:
		return nil, errors.New("--live reads the objects of a seed: remove the manifests from the command")
	case o.snapshots.options.Namespace == "":
		return nil, errors.New("--live explains an object of one control plane: name its namespace with --namespace")
	}
	planes, err := o.live.read(ctx, s, o.snapshots.options.Namespace, profiles.Program)
	if err != nil {
		return nil, err
	}
	return planes.snapshots, nil
}

func (o *explainOptions) static(s *Streams, words []string) error {
	if len(words) == 0 {
		_, err := io.WriteString(s.Out, explain.Overview())
		return err
	}
	page, err := explain.Static(words...)
	if err != nil {
		return err
	}
	if o.output == "json" {
		return render.WriteJSON(s.Out, page)
	}
	return page.Write(s.Out)
}
