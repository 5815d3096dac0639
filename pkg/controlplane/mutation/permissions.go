// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Permission is what an installation must be allowed to do for a lookup, as far as that is known before an admission.
type Permission struct {
	// Profile and Lookup name the lookup; Position is where it names its object.
	Profile, Lookup string
	Position        source.Position
	// Group and Resource are those of the object.
	Group, Resource string
	// Namespace is the only one in which it is read; empty: in that of each control plane, or it has none.
	Namespace string
	// Name is the name of the object; empty: it is computed for each control plane.
	Name string
	// Followed says that the object is not only got, but listed and watched by its name: in Namespace or, Everywhere, in all.
	Followed, Everywhere bool
}

// Ask is one thing that must be allowed: a verb, in a namespace or, empty, in all.
type Ask struct{ Verb, Namespace string }

// Asks are what must be allowed for the lookup.
func (p Permission) Asks() []Ask {
	asks := []Ask{{"get", p.Namespace}}
	if !p.Followed {
		return asks
	}
	namespace := p.Namespace
	if p.Everywhere {
		namespace = ""
	}
	return append(asks, Ask{"list", namespace}, Ask{"watch", namespace})
}

// Permissions are those for all lookups that a rule needs, sorted by profile, lookup and namespace. What every program reads
// (Clusters, namespaces, Gardens) is not among them.
func (p *Program) Permissions() []Permission {
	seen := map[Permission]bool{}
	var needed []Permission
	for key, forms := range p.scopes {
		for _, selected := range forms {
			for _, scope := range selected.needs.scopes {
				for _, l := range scope.lookups {
					if !selected.needs.lookups[scope][l.request.Name] {
						continue
					}
					if permission := l.permission(scope, key.garden); !seen[permission] {
						seen[permission] = true
						needed = append(needed, permission)
					}
				}
			}
		}
	}
	slices.SortFunc(needed, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Lookup, b.Lookup), cmp.Compare(a.Namespace, b.Namespace))
	})
	return needed
}

// permission is what the lookup needs for the control planes of shoots, or for the garden.
func (l *lookup) permission(s *scope, garden bool) Permission {
	request := l.request
	// A name that is made of parameters alone is known already: nothing else is there to be seen.
	if known, err := l.resolve(context.Background(), &view{parent: interpreter.EmptyActivation(), context: context.Background(), scope: s}); err == nil {
		request = known
	}
	needed := Permission{
		Profile: s.profile, Lookup: request.Name, Position: l.at,
		Group: request.Group, Resource: request.Resource, Name: request.ObjectName, Followed: !l.request.Computed,
	}
	if request.Scope != facts.ScopeCluster {
		needed.Namespace = request.Namespace
		if garden && needed.Namespace == "" {
			needed.Namespace, needed.Everywhere = target.GardenNamespace, needed.Followed
		}
	}
	return needed
}
