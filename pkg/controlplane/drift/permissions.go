// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Permission is a permission for objects of a kind, in addition to those that every installation has: to read
// namespaces and Clusters.
type Permission struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
	// Names are the only objects that are meant; none: all.
	Names []string `json:"names,omitempty"`
}

// Permissions returns the permissions for all objects with rules, sorted.
func Permissions(registrations []mutation.Registration) []Permission {
	var forms []target.Form
	for _, r := range registrations {
		forms = append(forms, r.Forms...)
	}
	var all []Permission
	for _, form := range distinct(forms) {
		at := slices.IndexFunc(all, func(p Permission) bool { return p.Group == form.Group && p.Resource == form.Resource })
		if at < 0 {
			all, at = append(all, Permission{Group: form.Group, Resource: form.Resource}), len(all)
		}
		if form.Name != "" && !slices.Contains(all[at].Names, form.Name) {
			all[at].Names = append(all[at].Names, form.Name)
		}
	}
	for i := range all {
		slices.Sort(all[i].Names)
	}
	slices.SortFunc(all, func(a, b Permission) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	return all
}
