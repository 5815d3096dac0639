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

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// snapshotFlags selects the control planes for trying profiles.
type snapshotFlags struct {
	options     snapshot.Options
	annotations []string
	set         []string
	shoot       string
	present     []string
	old         []string
}

func (f *snapshotFlags) addTo(set *pflag.FlagSet) {
	o := &f.options
	set.StringVar(&o.Kubernetes, "kubernetes", "", "version of the shoot, such as 1.33 or 1.34.2 (default: the newest known one)")
	set.BoolVar(&o.HighAvailability, "ha", false, "a highly available control plane")
	set.BoolVar(&o.IPv6, "ipv6", false, "IPv6-only networks")
	set.BoolVar(&o.Hibernated, "hibernated", false, "a hibernated shoot")
	set.BoolVar(&o.Workerless, "workerless", false, "a shoot without nodes")
	set.BoolVar(&o.Garden, "garden", false, "the virtual garden of gardener-operator instead of a shoot")
	set.BoolVar(&o.Legacy, "legacy", false, "a control plane of old Gardener versions: flags in commands, etcd as StatefulSets")
	set.StringVar(&o.Provider, "provider", "", "provider of the shoot (default: the first of the profiles)")
	set.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the control plane (default shoot--local--sample)")
	f.addSharedTo(set)
}

// addSharedTo defines the flags that also apply to several shoots.
func (f *snapshotFlags) addSharedTo(set *pflag.FlagSet) {
	o := &f.options
	set.StringVar(&o.SeedProvider, "seed-provider", "", "provider of the seed (default: the provider of the shoot)")
	set.StringArrayVar(&f.annotations, "annotation", nil, "annotation of the shoot: key=value (repeatable)")
	set.StringArrayVar(&f.set, "set", nil, "field of the shoot: region=eu, spec.purpose=testing; of its seed and cloud profile: seed.…, cloudProfile.… (repeatable)")
	set.StringVar(&f.shoot, "shoot", "", "manifest of the Shoot")
	set.StringArrayVar(&f.present, "present", nil, "manifests of objects for lookups: file, folder or - (repeatable)")
	set.StringArrayVar(&f.old, "old", nil, "manifests of the stored objects, for updates instead of creations (repeatable)")
}

// snapshots returns the snapshots of the manifests, or one of a generated control plane.
func (f *snapshotFlags) snapshots(ctx context.Context, s *Streams, manifests []string, provider string) ([]*snapshot.Snapshot, error) {
	in := snapshot.Input{}
	var err error
	for _, list := range []struct {
		into  *[]manifest.Object
		paths []string
	}{{&in.Objects, manifests}, {&in.Present, f.present}, {&in.Old, f.old}} {
		if *list.into, err = manifest.Read(list.paths, s.In); err != nil {
			return nil, err
		}
		if len(list.paths) > 0 && len(*list.into) == 0 {
			return nil, errors.New("there is no object in " + sources(list.paths))
		}
	}
	if in.Options, err = f.complete(provider); err != nil {
		return nil, err
	}
	snapshots, err := snapshot.Build(ctx, in, snapshot.Command{})
	if foreign := in.Foreign(); err == nil && len(foreign) > 0 {
		fmt.Fprintln(s.Err, "left out: "+snapshot.LeftOut(foreign))
	}
	return snapshots, err
}

// sources names paths as people do.
func sources(paths []string) string {
	names := slices.Clone(paths)
	if at := slices.Index(names, manifest.Stdin); at >= 0 {
		names[at] = "standard input"
	}
	return strings.Join(names, ", ")
}

// aboutPresent explains how to provide objects for lookups.
const aboutPresent = "Pass the objects that lookups read, such as Secrets and ConfigMaps, with --present."

// missed explains how to provide objects for lookups if an object is denied because of a missing one.
func missed(s *Streams, changes []*render.Change) {
	if slices.ContainsFunc(changes, func(c *render.Change) bool {
		failure, ok := errors.AsType[*mutation.Failure](c.Denied)
		return ok && failure.Reason == mutation.LookupMissing
	}) {
		fmt.Fprintln(s.Err, aboutPresent)
	}
}

// complete returns the options of the flags with the content of files.
func (f *snapshotFlags) complete(provider string) (snapshot.Options, error) {
	o := f.options
	var err error
	if o.Kubernetes, err = snapshot.Known(o.Kubernetes); err != nil {
		return o, fmt.Errorf("--kubernetes: %w", err)
	}
	if o.Provider == "" {
		o.Provider = provider
	}
	if len(f.annotations) > 0 {
		o.Annotations = map[string]string{}
	}
	for _, pair := range f.annotations {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return o, fmt.Errorf("--annotation %s: must be key=value", pair)
		}
		o.Annotations[key] = value
	}
	if err := o.Set(f.set...); err != nil {
		return o, err
	}
	if f.shoot == "" {
		return o, nil
	}
	data, err := disk.ReadStream(f.shoot, disk.DocumentSize)
	if err != nil {
		return o, fmt.Errorf("reading --shoot: %w", err)
	}
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		return o, fmt.Errorf("reading --shoot: %s: %w", f.shoot, err)
	}
	return o.Adopt(raw)
}
