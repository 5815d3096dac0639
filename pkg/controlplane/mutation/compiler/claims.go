// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
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
	c := profileCompiler{document: document, all: &compilation{program: mutation.NewProgram(contract.Today, false, nil)}}
	read := false
	for _, set := range target.Sets() {
		entries := c.rulesOf(set)
		read = read || len(entries) > 0
		if slices.Contains(document.Observe, string(set)) {
			continue
		}
		for i, entry := range entries {
			at := fmt.Sprintf("%s.%s[%d]", set, v1alpha1.ObjectsField, i)
			for _, t := range claimed(entry, at) {
				c.put(set, entry, t, nil, at)
			}
		}
	}
	if !read {
		for _, t := range shootTargets() {
			c.put(target.ControlPlane, v1alpha1.TargetRules{}, t, nil, "")
		}
	}
	return slices.DeleteFunc(c.all.program.Registrations(), func(r mutation.Registration) bool { return !r.Garden && r.Provider == "" })
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
