// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// RuleInfo describes a rule for those who can carry out only some of them.
type RuleInfo struct {
	// Set, Provider and Garden say where the rule acts, as in a Registration.
	Set      target.Set
	Provider string
	Garden   bool
	// Target is the object that it edits.
	Target *target.Target
	// Profile and Name are those of the profile and the rule; Position and Path are where it stands.
	Profile, Name string
	Position      source.Position
	Path          string
	// Operation is its name, and Places are what it writes; samples of that where Computed says that names come from expressions.
	Operation string
	Places    []operation.Place
	Computed  bool
	// Purposes are those of OperatingSystemConfigs to which it applies; nil for other targets.
	Purposes []string
	// References are the dotted paths of what its expressions name, with those of the variables and names of lookups that they use.
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
					infos = append(infos, r.describe(key))
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

// Only is the program without the rules for which keep is false. It answers for the same sets and providers.
func (p *Program) Only(keep func(RuleInfo) bool) *Program {
	reduced := *p
	reduced.scopes = make(map[scopeKey]map[formKey]*selection, len(p.scopes))
	for key, forms := range p.scopes {
		reduced.scopes[key] = map[formKey]*selection{}
		for at, selected := range forms {
			rules := slices.DeleteFunc(slices.Clone(selected.rules), func(r *rule) bool { return !keep(r.describe(key)) })
			if len(rules) > 0 {
				reduced.scopes[key][at] = &selection{target: selected.target, form: selected.form, rules: rules}
			}
		}
	}
	reduced.settle()
	return &reduced
}

func (r *rule) describe(key scopeKey) RuleInfo {
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

// expand adds references, and those of the variables and the names of lookups among them.
func (s *scope) expand(references []string, into map[string]bool) {
	for _, reference := range references {
		if into[reference] {
			continue
		}
		into[reference] = true
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		for _, declared := range s.variables {
			if root == variablesName && (name == "" || declared.name == name) {
				s.expand(declared.references(), into)
			}
		}
		for _, l := range s.lookups {
			if root == lookupsName && (name == "" || l.request.Name == name) {
				s.expand(l.references(), into)
			}
		}
	}
}
