// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Input is the input for building snapshots.
type Input struct {
	// Options apply to generated parts that no manifest defines.
	Options Options
	// Objects are manifests: objects for the webhooks, and resources of the control planes.
	Objects []manifest.Object
	// Present are objects that lookups find and that do not pass the webhooks; the Objects are found too.
	Present []manifest.Object
	// Old are the current objects of the seed.
	Old []manifest.Object
}

// Groups of the resources with facts about a control plane.
const (
	coreGroup       = "core.gardener.cloud"
	extensionsGroup = "extensions.gardener.cloud"
	operatorGroup   = "operator.gardener.cloud"
)

// background reports whether an object only provides facts about a control plane, or serves lookups: if a manifest
// contains no other objects, the control plane is generated.
func background(o manifest.Object) bool {
	switch o.Kind {
	case "Namespace", "Secret", "ConfigMap":
		return o.Group() == ""
	case "Shoot", "Seed", "CloudProfile", "NamespacedCloudProfile":
		return o.Group() == coreGroup
	case "Cluster", "Infrastructure", "BackupBucket", "BackupEntry":
		return o.Group() == extensionsGroup
	case "Garden":
		return o.Group() == operatorGroup
	}
	return false
}

// ErrManyShoots means that it is not clear which of several Shoots an object is of.
var ErrManyShoots = errors.New("several Shoots, and objects in namespaces of no Shoot")

// Build creates one snapshot for each control-plane namespace of the manifests, in the order of their appearance. A
// namespace has the facts of its Cluster or its Shoot; without both, and without manifests, those of the options.
// Objects without a namespace belong to the namespace of the options, or to the only one. It omits objects in other
// namespaces, which Input.Foreign returns; the error wraps ErrForeign if there are no other objects.
func Build(ctx context.Context, in Input, generator Generator) ([]*Snapshot, error) {
	b := &builder{in: in, generator: generator, inputs: map[string]*namespaceInput{}}
	if err := b.sort(); err != nil {
		return nil, err
	}
	return b.build(ctx)
}

// builder sorts manifests by the control plane that they belong to.
type builder struct {
	in        Input
	generator Generator
	// foreign are the objects that are left out.
	foreign []manifest.Object

	order  []string
	inputs map[string]*namespaceInput
	// shoots, seeds and cloud profiles of the manifests.
	shoots, seeds, cloudProfiles []manifest.Object
}

// namespaceInput holds the manifests of one namespace.
type namespaceInput struct {
	cluster, namespace, shoot, garden *manifest.Object

	objects []manifest.Object
}

func (b *builder) input(namespace string) *namespaceInput {
	if s := b.inputs[namespace]; s != nil {
		return s
	}
	s := &namespaceInput{}
	b.inputs[namespace] = s
	b.order = append(b.order, namespace)
	return s
}

func (b *builder) sort() error {
	var others, own []manifest.Object
	own, b.foreign = b.in.split()
	for _, o := range own {
		switch {
		case o.Is(extensionsGroup, "Cluster"):
			b.input(o.Name).cluster = &o
		case o.Is(operatorGroup, "Garden"):
			b.input(gardenNamespace).garden = &o
		case o.Is(coreGroup, "Shoot"):
			b.shoots = append(b.shoots, o)
		case o.Is(coreGroup, "Seed"):
			b.seeds = append(b.seeds, o)
		case o.Is(coreGroup, "CloudProfile"), o.Is(coreGroup, "NamespacedCloudProfile"):
			b.cloudProfiles = append(b.cloudProfiles, o)
		default:
			others = append(others, o)
		}
	}
	if err := b.sortShoots(); err != nil {
		return err
	}
	for _, o := range others {
		namespace := o.Namespace
		if o.Is("", "Namespace") {
			namespace = o.Name
		}
		if namespace == "" {
			namespace = b.defaultNamespace()
			if len(b.order) == 1 {
				namespace = b.order[0]
			}
		}
		s := b.input(namespace)
		if o.Is("", "Namespace") {
			s.namespace = &o
		} else {
			s.objects = append(s.objects, o)
		}
	}
	if len(b.order) == 0 && len(b.foreign) > 0 {
		return fmt.Errorf("%w: %s", ErrForeign, LeftOut(b.foreign))
	}
	if len(b.order) == 0 {
		b.input(b.defaultNamespace())
	}
	return nil
}

// sortShoots puts each Shoot to its namespace.
func (b *builder) sortShoots() error {
	for _, o := range b.shoots {
		adopted, err := Options{}.Adopt(o.JSON)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Position, err)
		}
		s := b.input(cmp.Or(adopted.Namespace, b.defaultNamespace()))
		if s.shoot != nil {
			return fmt.Errorf("%s: the Shoot of this control plane is already at %s", o.Position, s.shoot.Position)
		}
		s.shoot = &o
	}
	return nil
}

func (b *builder) defaultNamespace() string {
	if b.in.Options.Garden {
		return gardenNamespace
	}
	return cmp.Or(b.in.Options.Namespace, "shoot--local--sample")
}

func (b *builder) build(ctx context.Context) ([]*Snapshot, error) {
	planned := make([]Options, len(b.order))
	var wanted []Options
	for i, name := range b.order {
		s := b.inputs[name]
		if len(b.shoots) > 1 && s.shoot == nil && s.cluster == nil && name != gardenNamespace {
			return nil, fmt.Errorf("%w: %s", ErrManyShoots, name)
		}
		o, err := b.options(name, s)
		if err != nil {
			return nil, err
		}
		if planned[i] = o; b.generates(s) {
			wanted = append(wanted, o)
		}
	}
	var generated []Generated
	if len(wanted) > 0 {
		var err error
		if b.generator == nil {
			return nil, ErrNoGenerator
		}
		if generated, err = b.generator.Generate(ctx, wanted...); err != nil {
			return nil, fmt.Errorf("generating a control plane: %w", err)
		}
	}
	snapshots := make([]*Snapshot, 0, len(b.order))
	for i, name := range b.order {
		var g Generated
		if b.generates(b.inputs[name]) {
			g, generated = generated[0], generated[1:]
		}
		if err := g.err(); err != nil {
			return nil, err
		}
		snapshot, err := b.snapshot(name, b.inputs[name], planned[i], g)
		if err != nil {
			return nil, err
		}
		snapshots = append(snapshots, snapshot)
	}
	return snapshots, nil
}

// generates reports whether parts of the namespace must be generated: the facts, or the objects.
func (b *builder) generates(s *namespaceInput) bool {
	return s.cluster == nil && s.garden == nil || s.isBackground()
}

// isBackground reports that there are no objects for the webhooks.
func (s *namespaceInput) isBackground() bool {
	return !slices.ContainsFunc(s.objects, func(o manifest.Object) bool { return !background(o) })
}

// options returns the options of the generated parts of a namespace.
func (b *builder) options(namespace string, s *namespaceInput) (Options, error) {
	o := b.in.Options
	o.Garden = o.Garden || namespace == gardenNamespace
	if !o.Garden {
		o.Namespace = namespace
	}
	shoot := s.shoot
	if s.cluster != nil {
		var cluster struct {
			Spec struct{ Shoot, Seed, CloudProfile json.RawMessage }
		}
		if err := json.Unmarshal(s.cluster.JSON, &cluster); err != nil {
			return o, at(s.cluster, fmt.Errorf("reading the Cluster: %w", err))
		}
		shoot = &manifest.Object{JSON: cluster.Spec.Shoot, Position: s.cluster.Position}
		o.CloudProfile, o.Seed = cluster.Spec.CloudProfile, cluster.Spec.Seed
	}
	if shoot != nil {
		adopted, err := o.Adopt(shoot.JSON)
		if err != nil {
			return o, fmt.Errorf("%s: %w", shoot.Position, err)
		}
		o, o.Namespace = adopted, namespace
	}
	for _, part := range []struct {
		into  *json.RawMessage
		given []manifest.Object
	}{{&o.Seed, b.seeds}, {&o.CloudProfile, b.cloudProfiles}} {
		for _, given := range part.given {
			merged, err := Merge(given.JSON, *part.into)
			if err != nil {
				return o, fmt.Errorf("%s: %w", given.Position, err)
			}
			*part.into = merged
		}
	}
	return o, nil
}

// snapshot combines generated parts and manifests.
func (b *builder) snapshot(name string, s *namespaceInput, o Options, g Generated) (*Snapshot, error) {
	snapshot := &Snapshot{Title: cmp.Or(o.Title(), name), Old: map[string][]byte{}}
	if len(b.order) > 1 {
		snapshot.Title = name
	}
	var err error
	if snapshot.Facts, err = s.facts(name, o, g); err != nil {
		return nil, err
	}
	if snapshot.Objects = s.objects; s.isBackground() {
		generated, err := g.objects()
		if err != nil {
			return nil, err
		}
		snapshot.Objects = slices.Concat(generated, s.objects)
	}
	if err := snapshot.Find(slices.Concat(b.in.Present, s.objects)...); err != nil {
		return nil, err
	}
	for _, o := range b.in.Old {
		if o.Namespace == "" || o.Namespace == name {
			snapshot.Old[OldKey(o)] = o.JSON
		}
	}
	return snapshot, nil
}

// facts returns the facts of the Cluster or Garden in the manifests, or else the generated ones.
func (s *namespaceInput) facts(name string, o Options, g Generated) (*facts.Facts, error) {
	var (
		found     *facts.Facts
		namespace facts.Namespace
		err       error
	)
	switch {
	case s.garden != nil:
		found, err = facts.FromGarden(s.garden.JSON)
		namespace, err = facts.Namespace{Name: name}, at(s.garden, err)
	case s.cluster != nil:
		found, err = facts.FromCluster(s.cluster.JSON)
		namespace, err = labelled(name, o), at(s.cluster, err)
	default:
		if found, err = g.facts(); err == nil {
			namespace = found.Namespace
		}
	}
	if err != nil {
		return nil, err
	}
	if s.namespace != nil {
		if namespace, err = facts.DecodeNamespace(s.namespace.JSON); err != nil {
			return nil, at(s.namespace, err)
		}
	}
	return found.WithNamespace(namespace), nil
}

func at(o *manifest.Object, err error) error {
	if err == nil {
		return nil
	}
	return source.Findings{{Position: o.Position, Message: err.Error()}}.Err()
}

// ErrForeign means that no object in the manifests belongs to a control plane.
var ErrForeign = errors.New("the manifests have no control plane")

// Foreign returns the objects that Build omits: those in namespaces without a control plane, as in a dump of a whole
// seed.
func (in Input) Foreign() []manifest.Object {
	_, foreign := in.split()
	return foreign
}

// split separates the objects of control planes, and those without a namespace, from the rest.
func (in Input) split() (own, foreign []manifest.Object) {
	planes := in.planes()
	for _, o := range in.Objects {
		namespace := o.Namespace
		switch {
		case o.Is("", "Namespace"):
			namespace = o.Name
		case o.Group() == coreGroup, o.Is(operatorGroup, "Garden"), o.Is(extensionsGroup, "Cluster"):
			namespace = "" // the object is of a garden cluster, or describes a control plane by its name
		}
		if namespace == "" || planes[namespace] || namespace == gardenNamespace || strings.HasPrefix(namespace, "shoot--") {
			own = append(own, o)
		} else {
			foreign = append(foreign, o)
		}
	}
	return own, foreign
}

// planes returns the namespaces of control planes according to the options and manifests.
func (in Input) planes() map[string]bool {
	planes := map[string]bool{in.Options.Namespace: true}
	for _, o := range in.Objects {
		switch {
		case o.Is(extensionsGroup, "Cluster"):
			planes[o.Name] = true
		case o.Is(coreGroup, "Shoot"):
			if adopted, err := (Options{}).Adopt(o.JSON); err == nil { // the error is found where Shoots are sorted
				planes[adopted.Namespace] = true
			}
		case o.Is("", "Namespace"):
			planes[o.Name] = planes[o.Name] || hasProvider(o)
		}
	}
	return planes
}

// hasProvider reports whether a Namespace has a label by which providers' webhooks select it.
func hasProvider(namespace manifest.Object) bool {
	read, err := facts.DecodeNamespace(namespace.JSON)
	return err == nil && (read.Labels["shoot.gardener.cloud/provider"] != "" || read.Labels["seed.gardener.cloud/provider"] != "")
}

// LeftOut names the namespaces of foreign objects.
func LeftOut(foreign []manifest.Object) string {
	const most = 5
	var names []string
	for _, o := range foreign {
		if name := cmp.Or(o.Namespace, o.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 1 {
		names = append(names[:most], fmt.Sprintf("%d others", more))
	}
	return "objects of namespaces without a control plane: " + strings.Join(names, ", ")
}
