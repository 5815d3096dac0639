// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Profiles returns the profiles of the program, sorted by name.
func (p *Program) Profiles() []ProfileVersion { return p.profiles }

// Registrations returns the webhooks that the program needs, in the order in which sets apply, then by provider. They
// exclude the kube-apiserver Service for current versions of Gardener, which do not allow its mutation.
func (p *Program) Registrations() []Registration {
	var registrations []Registration
	for _, key := range p.ScopeKeys() {
		r := Registration{Set: key.Set, Provider: key.Provider, Garden: key.Garden, Observed: true}
		for _, selected := range p.scopes[key] {
			r.Observed = r.Observed && selected.Enforced != nil && len(selected.Enforced.Rules) == 0
			if selected.Form.Kind != "Service" || selected.Target.Other || p.generation != contract.Today {
				r.Forms = append(r.Forms, *selected.Form)
			}
		}
		slices.SortFunc(r.Forms, target.Compare)
		if len(r.Forms) > 0 {
			registrations = append(registrations, r)
		}
	}
	return registrations
}

// Permission is the permission to get the object of a lookup, as far as it is known before an admission.
type Permission struct {
	// Profile and Lookup name the lookup; Position is where it names its object.
	Profile, Lookup string
	Position        source.Position
	// Group and Resource are the group and the resource of the object.
	Group, Resource string
	// Namespace is the only namespace that the lookup reads. It is empty for the namespace of each control plane, and
	// for cluster-scoped objects.
	Namespace string
	// Name is the name of the object, or "" if it is computed for each control plane.
	Name string
}

// Permissions returns the permissions for all lookups that rules use, sorted by profile, lookup and namespace. It omits
// those that every program needs (Clusters, namespaces, Gardens).
func (p *Program) Permissions() []Permission {
	seen := map[Permission]bool{}
	var needed []Permission
	for key, selected := range p.Selections() {
		for _, r := range selected.Rules {
			for _, l := range r.Needs.Lookups {
				if permission := permissionOf(l, key.Garden); !seen[permission] {
					seen[permission] = true
					needed = append(needed, permission)
				}
			}
		}
	}
	slices.SortFunc(needed, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Lookup, b.Lookup), cmp.Compare(a.Namespace, b.Namespace))
	})
	return needed
}

// permissionOf returns the permission that the lookup needs for the control planes of shoots, or for the garden.
func permissionOf(l *scope.Lookup, garden bool) Permission {
	request := l.Request
	// A name that uses only parameters is already known, because no other variable is visible.
	if known, err := l.Resolve(context.Background(), l.Scope.View(context.Background(), interpreter.EmptyActivation(), nil, "")); err == nil {
		request = known
	}
	needed := Permission{
		Profile: l.Scope.Profile, Lookup: request.Name, Position: l.At,
		Group: request.Group, Resource: request.Resource, Name: request.ObjectName,
	}
	if request.Scope != facts.ScopeCluster {
		needed.Namespace = request.Namespace
		if garden && needed.Namespace == "" {
			needed.Namespace = target.GardenNamespace
		}
	}
	return needed
}

// Lookups returns the lookups of all profiles that some rule uses, with the names of their objects if they are
// constant. They are sorted by the order of the profiles, then by name.
func (p *Program) Lookups() []facts.LookupRequest {
	var used []*scope.Lookup
	for _, selected := range p.Selections() {
		for _, r := range selected.Rules {
			used = append(used, r.Needs.Lookups...)
		}
	}
	slices.SortFunc(used, func(a, b *scope.Lookup) int {
		return cmp.Or(cmp.Compare(a.Scope.Profile, b.Scope.Profile), cmp.Compare(a.Request.Name, b.Request.Name))
	})
	var requests []facts.LookupRequest
	for _, l := range slices.Compact(used) {
		requests = append(requests, l.Request)
	}
	return requests
}

// With returns the registration with these forms of objects added.
func (r Registration) With(forms []target.Form) Registration {
	r.Forms = slices.SortedFunc(slices.Values(slices.Concat(r.Forms, forms)), target.Compare)
	r.Forms = slices.CompactFunc(r.Forms, func(a, b target.Form) bool { return target.Compare(a, b) == 0 })
	return r
}

// Warnings returns the warnings about the profiles, for example deprecated flags of Kubernetes and removed feature
// gates.
func (p *Program) Warnings() source.Findings { return p.warnings }

// SetWarnings sets the warnings about the profiles.
func (p *Program) SetWarnings(warnings source.Findings) { p.warnings = warnings }
