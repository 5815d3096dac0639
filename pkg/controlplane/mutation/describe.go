// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Profiles returns the profiles of the program, sorted by name.
func (p *Program) Profiles() []ProfileVersion { return p.profiles }

// Registrations returns the webhooks that the program needs, in the order in which sets apply, then by provider. For
// today's Gardener, they exclude the kube-apiserver Service, which must not be mutated at all.
func (p *Program) Registrations() []Registration {
	var registrations []Registration
	for key, forms := range p.scopes {
		r := Registration{Set: key.set, Provider: key.provider, Garden: key.garden, Observed: true}
		for _, selected := range forms {
			r.Observed = r.Observed && selected.enforced != nil && len(selected.enforced.rules) == 0
			if selected.form.Kind != "Service" || selected.target.Other || p.generation != contract.Today {
				r.Forms = append(r.Forms, *selected.form)
			}
		}
		slices.SortFunc(r.Forms, target.Compare)
		if len(r.Forms) > 0 {
			registrations = append(registrations, r)
		}
	}
	slices.SortFunc(registrations, compareRegistrations)
	return registrations
}

// RuleInfo describes a rule for those who can carry out only some of them.
type RuleInfo struct {
	// Set, Provider and Garden say where the rule acts, as in a Registration.
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

// Rules describes the rules of the program, each once for every place where it acts, in the order of the profiles.
func (p *Program) Rules() []RuleInfo {
	var infos []RuleInfo
	for key, forms := range p.scopes {
		seen := map[*rule]bool{}
		for _, selected := range forms {
			for _, r := range selected.rules {
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
	reduced.scopes = make(map[scopeKey]map[formKey]*selection, len(p.scopes))
	for key, forms := range p.scopes {
		reduced.scopes[key] = map[formKey]*selection{}
		for at, selected := range forms {
			rules := slices.DeleteFunc(slices.Clone(selected.rules), func(r *rule) bool { return !keep(infoOf(r, key)) })
			if len(rules) > 0 {
				reduced.scopes[key][at] = &selection{target: selected.target, form: selected.form, rules: rules}
			}
		}
	}
	settleSelections(&reduced)
	return &reduced
}

func infoOf(r *rule, key scopeKey) RuleInfo {
	info := RuleInfo{
		Set: key.set, Provider: key.provider, Garden: key.garden, Target: r.target, Profile: r.profile, Name: r.name, Position: r.position,
		Path: r.path, Operation: r.operation.Name, Purposes: r.purposes, Computed: r.family != nil && len(r.family.names) > 0,
	}
	for i := range r.writes {
		info.Places = append(info.Places, r.writes[i].Place)
	}
	named := map[string]bool{}
	r.scope.expand(r.references(), named)
	info.References = slices.Sorted(maps.Keys(named))
	return info
}

// Permission is a permission that an installation needs for a lookup, as far as it is known before an admission.
type Permission struct {
	// Profile and Lookup name the lookup; Position is where it names its object.
	Profile, Lookup string
	Position        source.Position
	// Group and Resource are those of the object.
	Group, Resource string
	// Namespace is the only namespace that the lookup reads. It is empty for the namespace of each control plane, and
	// for cluster-scoped objects.
	Namespace string
	// Name is the name of the object; empty: it is computed for each control plane.
	Name string
	// Followed says that the object is not only got, but listed and watched by its name: in Namespace or, Everywhere, in all.
	Followed, Everywhere bool
}

// Ask is one thing that must be allowed: a verb, in a namespace or, empty, in all.
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
	for key, forms := range p.scopes {
		for _, selected := range forms {
			for _, scope := range selected.needs.scopes {
				for _, l := range scope.lookups {
					if !selected.needs.lookups[scope][l.request.Name] {
						continue
					}
					if permission := permissionOf(l, scope, key.garden); !seen[permission] {
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

// permissionOf returns the permission that the lookup needs for the control planes of shoots, or for the garden.
func permissionOf(l *lookup, s *scope, garden bool) Permission {
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

// Lookups returns the lookups of all profiles that some rule uses, with the names of their objects if they are
// constant. They are sorted by the order of the profiles, then by name.
func (p *Program) Lookups() []facts.LookupRequest {
	named := map[*lookup]bool{}
	var scopes []*scope
	for _, forms := range p.scopes {
		for _, selected := range forms {
			for _, s := range selected.needs.scopes {
				if !slices.Contains(scopes, s) {
					scopes = append(scopes, s)
				}
				for _, l := range s.lookups {
					named[l] = named[l] || selected.needs.lookups[s][l.request.Name]
				}
			}
		}
	}
	slices.SortFunc(scopes, func(a, b *scope) int { return strings.Compare(a.profile, b.profile) })
	var requests []facts.LookupRequest
	for _, s := range scopes {
		for _, l := range s.lookups {
			if named[l] {
				requests = append(requests, l.request)
			}
		}
	}
	return requests
}

// Reads returns the objects that lookups of the program read in a seed. It is used to grant permissions or request
// them.
func (p *Program) Reads() []facts.Read { return facts.ReadsOf(p.Lookups()) }

// Parts returns the parts of a Cluster that rules use.
func (p *Program) Parts() facts.Parts {
	var parts facts.Parts
	for _, forms := range p.scopes {
		for _, selected := range forms {
			parts = parts.Join(selected.needs.parts)
		}
	}
	return parts
}

// Claims returns the webhooks for the objects that a profile is meant to mutate, as far as the profile can be parsed.
// Without the profile, these objects must not be admitted. A profile without a readable set claims every object of the
// contract in the control plane. Observed sets and retired profiles claim nothing.
func Claims(document *profile.Document) []Registration {
	if document.Retired || document.Mode == v1alpha1.ModeObserve {
		return nil
	}
	c := profileCompiler{document: document}
	claims := map[scopeKey][]target.Form{}
	read := false
	for _, set := range target.Sets() {
		entries := c.rulesOf(set)
		read = read || len(entries) > 0
		if slices.Contains(document.Observe, string(set)) {
			continue
		}
		for i, entry := range entries {
			for _, t := range claimed(entry, fmt.Sprintf("%s.%s[%d]", set, v1alpha1.ObjectsField, i)) {
				claim(claims, document, set, t)
			}
		}
	}
	if !read {
		for _, t := range shootTargets() {
			claim(claims, document, target.ControlPlane, t)
		}
	}
	var registrations []Registration
	for key, forms := range claims {
		registrations = append(registrations, Registration{Set: key.set, Provider: key.provider, Garden: key.garden}.With(forms))
	}
	slices.SortFunc(registrations, compareRegistrations)
	return registrations
}

// With returns the webhook for these objects too.
func (r Registration) With(forms []target.Form) Registration {
	r.Forms = slices.SortedFunc(slices.Values(slices.Concat(r.Forms, forms)), target.Compare)
	r.Forms = slices.CompactFunc(r.Forms, func(a, b target.Form) bool { return target.Compare(a, b) == 0 })
	return r
}

// claimed returns the targets of an entry of a set; all of the contract where the name is not known.
func claimed(entry v1alpha1.TargetRules, at string) []*target.Target {
	if t, _ := targetOf(entry, at); t != nil {
		return []*target.Target{t}
	}
	return shootTargets()
}

// shootTargets returns the targets of the contract in the control planes of shoots.
func shootTargets() []*target.Target {
	var all []*target.Target
	for _, name := range target.Names() {
		if t, _ := target.Lookup(name); !t.Garden {
			all = append(all, t)
		}
	}
	return all
}

// claim adds the forms of a target. The Service of the kube-apiserver is left out, as it is not mutated with today's Gardener.
func claim(claims map[scopeKey][]target.Form, document *profile.Document, set target.Set, t *target.Target) {
	keys := []scopeKey{{set: set, garden: true}}
	if !t.Garden {
		keys = keys[:0]
		for _, provider := range document.Providers {
			keys = append(keys, scopeKey{set: set, provider: provider})
		}
	}
	for _, key := range keys {
		for _, form := range t.Forms {
			if form.Kind != "Service" || t.Other {
				claims[key] = append(claims[key], form)
			}
		}
	}
}

// Warnings returns the warnings about the profiles, for example deprecated flags of Kubernetes and removed feature
// gates.
func (p *Program) Warnings() source.Findings { return p.warnings }
