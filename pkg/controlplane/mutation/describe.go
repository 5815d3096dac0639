// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Profiles returns the profiles of the program, sorted by name.
func (p *Program) Profiles() []ProfileVersion { return p.profiles }

// Registrations returns the webhooks that the program needs, in the order in which sets apply, then by provider. They
// exclude the kube-apiserver Service for current versions of Gardener, which do not allow its mutation.
func (p *Program) Registrations() []Registration {
	var registrations []Registration
	for key, forms := range p.scopes {
		r := Registration{Set: key.Set, Provider: key.Provider, Garden: key.Garden, Observed: true}
		for _, selected := range forms {
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
	slices.SortFunc(registrations, CompareRegistrations)
	return registrations
}

// RuleInfo describes a rule, for callers of Only.
type RuleInfo struct {
	// Set, Provider and Garden select the webhook of the rule, as in a Registration.
	Set      target.Set
	Provider string
	Garden   bool
	// Target is the object that it edits.
	Target *target.Target
	// Profile and Name are the names of the profile and the rule; Position and Path locate the rule.
	Profile, Name string
	Position      source.Position
	Path          string
	// Operation is the name of the operation, and Places lists the places that it writes; if Computed is true, these
	// are samples, because expressions compute the names.
	Operation string
	Places    []operation.Place
	Computed  bool
	// Purposes lists the purposes of OperatingSystemConfigs to which the rule applies; nil for other targets.
	Purposes []string
	// References lists the dotted paths that its expressions use, directly or through variables and names of lookups.
	References []string
}

// Rules returns descriptions of the program's rules, one for each place where a rule acts, in the order of the
// profiles.
func (p *Program) Rules() []RuleInfo {
	var infos []RuleInfo
	for key, forms := range p.scopes {
		seen := map[*Rule]bool{}
		for _, selected := range forms {
			for _, r := range selected.Rules {
				if !seen[r] {
					seen[r] = true
					infos = append(infos, infoOf(r, key))
				}
			}
		}
	}
	slices.SortFunc(infos, func(a, b RuleInfo) int {
		return cmp.Or(
			cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Set, b.Set), cmp.Compare(a.Provider, b.Provider),
		)
	})
	return infos
}

// Only returns the program with only the rules for which keep returns true. It serves the same sets and providers.
func (p *Program) Only(keep func(RuleInfo) bool) *Program {
	reduced := *p
	reduced.scopes = make(map[ScopeKey]map[formKey]*Selection, len(p.scopes))
	for key, forms := range p.scopes {
		reduced.scopes[key] = map[formKey]*Selection{}
		for at, selected := range forms {
			rules := slices.DeleteFunc(slices.Clone(selected.Rules), func(r *Rule) bool { return !keep(infoOf(r, key)) })
			if len(rules) > 0 {
				reduced.scopes[key][at] = &Selection{Target: selected.Target, Form: selected.Form, Rules: rules}
			}
		}
	}
	completeSelections(&reduced)
	return &reduced
}

func infoOf(r *Rule, key ScopeKey) RuleInfo {
	info := RuleInfo{
		Set: key.Set, Provider: key.Provider, Garden: key.Garden, Target: r.Target, Profile: r.Profile, Name: r.Name, Position: r.Position,
		Path: r.Path, Operation: r.Operation.Name, Purposes: r.Purposes, Computed: r.ForEach != nil && len(r.ForEach.Names) > 0,
	}
	for i := range r.Writes {
		info.Places = append(info.Places, r.Writes[i].Place)
	}
	info.References = slices.Sorted(maps.Keys(r.Scope.Expand(r.References())))
	return info
}

// Permission is a permission that an installation needs for a lookup, if it is known before an admission.
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
	// Followed is true if the object is also listed and watched by its name: in Namespace, or with Everywhere in all
	// namespaces.
	Followed, Everywhere bool
}

// Ask is a required verb in a namespace. An empty namespace means all.
type Ask struct{ Verb, Namespace string }

// Asks returns the verbs and namespaces that the lookup needs.
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

// Permissions returns the permissions for all lookups that rules use, sorted by profile, lookup and namespace. It omits
// those that every program needs (Clusters, namespaces, Gardens).
func (p *Program) Permissions() []Permission {
	seen := map[Permission]bool{}
	var needed []Permission
	for key, selected := range p.Selections() {
		for scope, l := range selected.Needs.Used() {
			if permission := permissionOf(l, scope, key.Garden); !seen[permission] {
				seen[permission] = true
				needed = append(needed, permission)
			}
		}
	}
	slices.SortFunc(needed, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Lookup, b.Lookup), cmp.Compare(a.Namespace, b.Namespace))
	})
	return needed
}

// permissionOf returns the permission that the lookup needs for the control planes of shoots, or for the garden.
func permissionOf(l *scope.Lookup, s *scope.Scope, garden bool) Permission {
	request := l.Request
	// A name that uses only parameters is already known, because no other variable is visible.
	if known, err := l.Resolve(context.Background(), s.View(context.Background(), interpreter.EmptyActivation(), nil, "")); err == nil {
		request = known
	}
	needed := Permission{
		Profile: s.Profile, Lookup: request.Name, Position: l.At,
		Group: request.Group, Resource: request.Resource, Name: request.ObjectName, Followed: !l.Request.Computed,
	}
	if request.Scope != facts.ScopeCluster {
		needed.Namespace = request.Namespace
		if garden && needed.Namespace == "" {
			needed.Namespace, needed.Everywhere = target.GardenNamespace, needed.Followed
		}
	}
	return needed
}

// Lookups returns the lookups of all profiles that some rule uses, with the names of their objects if they are
// constant. They are sorted by the order of the profiles, then by name.
func (p *Program) Lookups() []facts.LookupRequest {
	var used []*scope.Lookup
	for _, selected := range p.Selections() {
		for _, l := range selected.Needs.Used() {
			if !slices.Contains(used, l) {
				used = append(used, l)
			}
		}
	}
	slices.SortFunc(used, func(a, b *scope.Lookup) int {
		return cmp.Or(cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Request.Name, b.Request.Name))
	})
	var requests []facts.LookupRequest
	for _, l := range used {
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
