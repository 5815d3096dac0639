// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// Lookups are the lookups of all profiles that some rule names, with the names of the objects where those are constant. The
// order is that of the profiles, then by name.
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

// Reads are what the lookups of the program read in a seed, for those who grant permissions or ask for them.
func (p *Program) Reads() []facts.Read { return facts.ReadsOf(p.Lookups()) }

// Parts are what some rule names of a Cluster.
func (p *Program) Parts() facts.Parts {
	var parts facts.Parts
	for _, forms := range p.scopes {
		for _, selected := range forms {
			parts = parts.Join(selected.needs.parts)
		}
	}
	return parts
}
