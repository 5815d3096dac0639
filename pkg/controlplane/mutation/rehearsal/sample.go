// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"strings"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
)

// neutral is the value of lookups in a rehearsal. It is valid as a name, a path and a region.
const neutral = "sample"

// sample is the source of facts for a sample control plane.
type sample struct {
	plane *static.Plane
	facts *facts.Facts
	// bare says that optional lookups find nothing.
	bare bool
}

// String returns the name of the sample for messages, with its kind.
func (s *sample) String() string {
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

// withoutOptional returns the sample with optional lookups that find nothing.
func (s *sample) withoutOptional() *sample { return &sample{s.plane, s.facts, true} }

// lacks returns the part of a message that names the missing lookups, or an empty string.
func (s *sample) lacks() string {
	if s.bare {
		return ", where an optional lookup finds nothing; what it finds is read with ?"
	}
	return ""
}

// samples reads the facts of all samples once.
var samples = sync.OnceValue(func() map[string]*facts.Facts {
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

func sampleOf(plane *static.Plane) *sample { return &sample{plane, samples()[plane.Name], false} }

// Read implements facts.Source.
func (s *sample) Read(_ context.Context, namespace string) (*facts.Facts, error) {
	if s.facts == nil {
		return nil, facts.ErrNotFound
	}
	return s.facts.WithNamespace(facts.Namespace{Name: namespace}), nil
}

// Lookup implements facts.Source. It finds every object, or only those of required lookups.
func (s *sample) Lookup(_ context.Context, _ string, l facts.LookupRequest) (*facts.Found, error) {
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
