// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// Claims returns the webhooks for the objects that a profile is meant to mutate, as far as the profile can be parsed.
// Without the profile, these objects must not be admitted. A profile without a readable set claims every object of the
// contract in the control plane. Observed sets and retired profiles claim nothing.
func Claims(document *profile.Document) []mutation.Registration {
	if document.Retired || document.Mode == v1alpha1.ModeObserve {
		return nil
	}
	c := profileCompiler{document: document}
	claims := map[mutation.ScopeKey][]target.Form{}
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
	var registrations []mutation.Registration
	for key, forms := range claims {
		registrations = append(registrations, mutation.Registration{Set: key.Set, Provider: key.Provider, Garden: key.Garden}.With(forms))
	}
	slices.SortFunc(registrations, mutation.CompareRegistrations)
	return registrations
}

// claimed returns the targets of an entry of a set, or all targets of the contract if its name is unknown.
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

// claim adds the forms of a target. It omits the Service of the kube-apiserver, because current versions of Gardener do
// not allow its mutation.
func claim(claims map[mutation.ScopeKey][]target.Form, document *profile.Document, set target.Set, t *target.Target) {
	keys := []mutation.ScopeKey{{Set: set, Garden: true}}
	if !t.Garden {
		keys = keys[:0]
		for _, provider := range document.Providers {
			keys = append(keys, mutation.ScopeKey{Set: set, Provider: provider})
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
