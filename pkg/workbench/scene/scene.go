// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scene is what a profile is tried on without a cluster: the namespace of a control plane, the facts of its shoot, the
// objects that lookups find, and the objects that pass the webhooks. A scene is built of manifests that somebody has, of a
// control plane that Gardener's own code generates (a Generator), or of both.
//
// It knows nothing of what is then done with the results. Enter at Build, New and Scene.Admit.
package scene

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Scene is one control plane.
type Scene struct {
	// Title tells it from others: what is special about its shoot, or its namespace.
	Title string
	// Facts are what expressions see; they hold the namespace.
	Facts *facts.Facts
	// Present are the objects that lookups find, decoded.
	Present []map[string]any
	// Live is where facts and lookups are read in place of Facts and Present; nil for those.
	Live facts.Source
	// Objects are those that pass the webhooks, in the order in which they were given.
	Objects []manifest.Object
	// Old are objects as they stand in the seed, as JSON by OldKey: those are updated, and not created.
	Old map[string][]byte
}

// OldKey is the key of an object in Scene.Old.
func OldKey(o manifest.Object) string { return o.Group() + "/" + o.Kind + "/" + o.Name }

// New is the scene of a generated control plane.
func New(o Options, g Generated) (*Scene, error) {
	found, err := g.facts()
	if err != nil {
		return nil, err
	}
	s := &Scene{Title: o.Title(), Facts: found}
	if s.Objects, err = g.objects(); err != nil {
		return nil, err
	}
	return s, nil
}

// Namespace is the namespace of the control plane.
func (s *Scene) Namespace() facts.Namespace { return s.Facts.Namespace }

// Source is where the engine reads the facts and lookups of the scene.
func (s *Scene) Source() facts.Source {
	if s.Live != nil {
		return s.Live
	}
	return &facts.Static{Facts: s.Facts, Objects: s.Present}
}

// Admit takes objects through the webhooks of the program, all of the scene when none is named. An object that is denied is a
// change with Denied set; the error is of what is no object, or that of the context.
func (s *Scene) Admit(ctx context.Context, p *mutation.Program, objects ...manifest.Object) ([]*render.Change, error) {
	if len(objects) == 0 {
		objects = s.Objects
	}
	source := s.Source()
	changes := make([]*render.Change, 0, len(objects))
	for _, object := range objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		change, err := render.NewChange(object.JSON)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", object.Position, object, err)
		}
		var failure *mutation.Failure
		if err := change.Admit(ctx, p, s.Admission(object), source); err != nil && !errors.As(err, &failure) {
			return nil, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// Admission is how an object of the scene comes to the API server.
func (s *Scene) Admission(object manifest.Object) render.Admission {
	a := render.Admission{Namespace: s.Namespace().Name, Labels: s.Namespace().Labels, Operation: "CREATE"}
	if old := s.Old[OldKey(object)]; old != nil {
		a.Operation, a.Old = "UPDATE", old
	}
	return a
}

// Selected are the registrations of the program that are called for an object of the scene.
func (s *Scene) Selected(p *mutation.Program, object manifest.Object) []mutation.Registration {
	var selected []mutation.Registration
	for _, r := range p.Registrations() {
		if r.Selects(s.Namespace().Name, s.Namespace().Labels) && r.Has(object.Group(), object.Kind, object.Name) {
			selected = append(selected, r)
		}
	}
	return selected
}

// facts are what expressions see of a generated control plane.
func (g Generated) facts() (*facts.Facts, error) {
	var (
		found *facts.Facts
		err   error
	)
	if isGarden(g.Cluster) {
		found, err = facts.FromGarden(g.Cluster)
	} else {
		found, err = facts.FromCluster(g.Cluster)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the generated objects: %w", err)
	}
	namespace, err := namespaceOf(g.Namespace)
	if err != nil {
		return nil, fmt.Errorf("reading the generated objects: %w", err)
	}
	return found.WithNamespace(namespace), nil
}

func (g Generated) objects() ([]manifest.Object, error) {
	objects := make([]manifest.Object, 0, len(g.Objects))
	for _, raw := range g.Objects {
		object, err := manifest.New(raw, source.Position{})
		if err != nil {
			return nil, fmt.Errorf("reading the generated objects: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func isGarden(raw []byte) bool {
	var head struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(raw, &head) == nil && head.Kind == "Garden"
}

func namespaceOf(raw []byte) (facts.Namespace, error) {
	var namespace struct {
		Metadata struct {
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &namespace); err != nil {
		return facts.Namespace{}, fmt.Errorf("decoding the Namespace: %w", err)
	}
	return facts.Namespace{
		Name: namespace.Metadata.Name, Labels: maps.Clone(namespace.Metadata.Labels), Annotations: maps.Clone(namespace.Metadata.Annotations),
	}, nil
}

// gardenNamespace is where the virtual garden lives.
const gardenNamespace = target.GardenNamespace
