// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// WithLookups is the profile with the lookups that operations in its rules make by themselves among those that it declares.
func WithLookups(d *profile.Document) *profile.Document {
	own := map[string]v1alpha1.Lookup{}
	for _, set := range []v1alpha1.Set{d.ControlPlane, d.ControlPlaneExposure, d.ControlPlaneBackup} {
		for _, entry := range set {
			for _, rule := range entry.Rules {
				for _, field := range rule.Operations {
					name := field.Key.Value
					known := slices.Concat(operation.Names(), v1alpha1.RuleFields)
					if meant, near := source.Nearest(name, known); near && !slices.Contains(known, name) {
						name = meant // as where the rule is compiled
					}
					if definition, ok := operation.Lookup(name); ok && definition.Lookups != nil {
						maps.Copy(own, definition.Lookups(field.Value))
					}
				}
			}
		}
	}
	if len(own) == 0 {
		return d
	}
	maps.Copy(own, d.Lookups)
	with, declared := *d, *d.ProviderProfile
	declared.Lookups = own
	with.ProviderProfile = &declared
	return &with
}
