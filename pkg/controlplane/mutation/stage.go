// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// neutral is what a lookup finds in a rehearsal: text that is a name, a path and a region just as well as anything else.
const neutral = "sample"

// stage is the source of facts for a sample control plane.
type stage struct {
	plane *static.Plane
	facts *facts.Facts
	// bare says that optional lookups find nothing.
	bare bool
}

// String is the name of the sample for messages, and what it is a sample of.
func (s *stage) String() string {
	of := "a shoot's control plane as Gardener writes it"
	switch {
	case s.plane.Garden:
		of = "the control plane of a virtual garden as Gardener writes it"
	case s.plane.Legacy:
		of = "a shoot's control plane as Gardener of the older generation writes it"
	case s.facts != nil:
		of += " for Kubernetes " + s.facts.Kubernetes()
	}
	return s.plane.Name + " (" + of + ")"
}

// withoutOptional is the stage where optional lookups find nothing.
func (s *stage) withoutOptional() *stage { return &stage{s.plane, s.facts, true} }

// lacks says in messages what is missing on the stage; empty for nothing.
func (s *stage) lacks() string {
	if s.bare {
		return ", where an optional lookup finds nothing; what it finds is read with ?"
	}
	return ""
}

// stages reads the facts of all samples once.
var stages = sync.OnceValue(func() map[string]*facts.Facts {
	found := map[string]*facts.Facts{}
	for _, plane := range static.Planes() {
		read := facts.FromCluster
		if plane.Garden {
			read = facts.FromGarden
		}
		if f, err := read(plane.Source); err == nil {
			found[plane.Name] = f
		}
	}
	return found
})

func stageOf(plane *static.Plane) *stage { return &stage{plane, stages()[plane.Name], false} }

// Read implements facts.Source.
func (s *stage) Read(_ context.Context, namespace string) (*facts.Facts, error) {
	if s.facts == nil {
		return nil, facts.ErrNotFound
	}
	return s.facts.WithNamespace(facts.Namespace{Name: namespace}), nil
}

// Lookup implements facts.Source: everything is found, or what is not optional.
func (s *stage) Lookup(_ context.Context, _ string, l facts.LookupRequest) (*facts.Found, error) {
	if s.bare && l.Optional {
		return nil, l.Missing()
	}
	found := &facts.Found{
		Keys: neutralTexts(l.Keys), Labels: neutralTexts(l.Labels), Annotations: neutralTexts(l.Annotations), Fields: map[string]any{},
		Checksum: strings.Repeat("0", 64),
	}
	for name := range l.Fields {
		found.Fields[name] = neutral
	}
	return found, nil
}

func neutralTexts(keys []string) map[string]string {
	texts := make(map[string]string, len(keys))
	for _, key := range keys {
		texts[key] = neutral
	}
	return texts
}

// requestFor is the admission of an object that is being created.
func requestFor(root *document.Node, garden bool) Request {
	version := schema.FromAPIVersionAndKind(text(root.Get("apiVersion")), text(root.Get("kind")))
	return Request{
		Garden: garden, Operation: "CREATE", Namespace: text(root.Find("metadata", "namespace")), Name: text(root.Find("metadata", "name")),
		Group: version.Group, Version: version.Version, Kind: version.Kind,
	}
}

func compareScopes(a, b scopeKey) int {
	return cmp.Or(cmp.Compare(slices.Index(target.Sets(), a.set), slices.Index(target.Sets(), b.set)), strings.Compare(a.provider, b.provider))
}
