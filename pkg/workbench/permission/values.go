// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// Values holds the values of the chart that permit the lookups of the profiles in all namespaces, because the chart
// creates no other roles.
type Values struct {
	Lookups Lookups `json:"lookups"`
}

// Lookups are Secrets and ConfigMaps by their names, and other objects.
type Lookups struct {
	Secrets    []string `json:"secrets,omitempty"`
	ConfigMaps []string `json:"configMaps,omitempty"`
	Objects    []Object `json:"objects,omitempty"`
}

// Object is a resource with the names of its objects; without names, any that is got.
type Object struct {
	Group    string   `json:"group"`
	Resource string   `json:"resource"`
	Names    []string `json:"names,omitempty"`
}

// ValuesOf returns the values for a program.
func ValuesOf(p *mutation.Program) Values {
	var v Values
	for _, n := range needs(p) {
		group, resource, names := n.rule.APIGroups[0], n.rule.Resources[0], n.rule.ResourceNames
		switch {
		case group == "" && resource == "secrets" && names != nil:
			v.Lookups.Secrets = union(v.Lookups.Secrets, names)
		case group == "" && resource == "configmaps" && names != nil:
			v.Lookups.ConfigMaps = union(v.Lookups.ConfigMaps, names)
		default:
			v.Lookups.Objects = append(v.Lookups.Objects, Object{group, resource, names})
		}
	}
	return v
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
