// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// wanted are the lookups of rules that apply, as far as their conditions say so without a lookup. A condition that has no result is
// left to the plan, which denies the object.
func (s *selection) wanted(ctx context.Context, o *target.Object, v *view, all map[string]bool) map[string]bool {
	if len(all) == 0 || s.how.forced {
		return all
	}
	wanted, left := map[string]bool{}, false
	for _, r := range s.rules {
		lookups := r.reach.lookups[r.scope]
		if r.scope != v.scope || len(lookups) == 0 || r.misses(o) != "" {
			continue
		}
		if r.early {
			if holds, err := v.holds(ctx, r); err == nil && !holds {
				left = true
				continue
			}
		}
		maps.Copy(wanted, lookups)
	}
	if !left {
		return all
	}
	return wanted
}

// needsFor are the needs of the rules that concern the object: nothing is read, and nothing can be missing, for the others.
func (s *selection) needsFor(g contract.Generation, o *target.Object) *needs {
	if _, locked := contract.ServiceLocked(o, g); locked {
		return &needs{}
	}
	if s.needsIn == nil {
		return &s.needs
	}
	purpose := o.Purpose()
	if known := s.needsIn[concern{purpose, purpose != provision || o.HasKubelet()}]; known != nil {
		return known
	}
	return s.needsOfConcerned(purpose, o)
}

// concern is how an OperatingSystemConfig says which rules concern it; for other objects, purpose is empty.
type concern struct {
	purpose string
	kubelet bool
}

// HasKubelet is like that of an object.
func (c concern) HasKubelet() bool { return c.kubelet }

// need finds what the rules need, once.
func (s *selection) need() {
	for _, r := range s.rules {
		r.need()
	}
	s.needs, s.needsIn = needsOf(s.rules), nil
	if !slices.ContainsFunc(s.rules, func(r *rule) bool { return r.target.Purposed || r.missesIn(s.form, "", concern{}) != "" }) {
		return
	}
	s.needsIn = map[concern]*needs{}
	for _, of := range []concern{{"", true}, {reconcile, true}, {provision, true}, {provision, false}} {
		s.needsIn[of] = s.needsOfConcerned(of.purpose, of)
	}
}

func (s *selection) needsOfConcerned(purpose string, o interface{ HasKubelet() bool }) *needs {
	found := needsOf(slices.DeleteFunc(slices.Clone(s.rules), func(r *rule) bool { return r.missesIn(s.form, purpose, o) != "" }))
	return &found
}

// needs are the facts that a selection's rules name.
type needs struct {
	cluster, object bool
	// parts are those of the Cluster.
	parts   facts.Parts
	scopes  []*scope // those that have a rule, in the order of the rules
	lookups map[*scope]map[string]bool
}

// decode decodes the parts of the Cluster that are named, so that one that cannot be is found before anything is evaluated.
func (n *needs) decode(f *facts.Facts) error {
	if n.parts.Seed {
		if _, err := f.Seed.Get(); err != nil {
			return err
		}
	}
	if n.parts.CloudProfile {
		if _, err := f.CloudProfile.Get(); err != nil {
			return err
		}
	}
	return nil
}

// namesOfCluster are the variables for which the Cluster, the namespace or the Garden has to be read.
var namesOfCluster = []string{"shoot", "seed", "cloudProfile", "namespaceObject", "garden", "pool", imagesName}

// need finds what the rule reaches, and whether its condition can be decided before its lookups are made.
func (r *rule) need() {
	if r.reach != nil {
		return
	}
	reach := r.scope.reach(r.references())
	r.reach, r.inKubelet = &reach, r.writesKubelet()
	if r.whenText == "" || len(reach.lookups[r.scope]) == 0 {
		return
	}
	if before := r.scope.reach(r.when.References()); len(before.lookups[r.scope]) == 0 {
		// It is decided twice, and evaluated once.
		r.early = true
		r.scope.conditions[r.whenText]++
	}
}

func needsOf(rules []*rule) needs {
	result := needs{lookups: map[*scope]map[string]bool{}}
	for _, r := range rules {
		if result.lookups[r.scope] == nil {
			result.scopes = append(result.scopes, r.scope)
			result.lookups[r.scope] = map[string]bool{}
		}
		maps.Copy(result.lookups[r.scope], r.reach.lookups[r.scope])
		result.cluster = result.cluster || r.reach.cluster
		result.object = result.object || r.reach.object
		result.parts = result.parts.Join(r.reach.parts)
	}
	return result
}

func (n *needs) add(s *scope, references []string, seen map[string]bool) {
	for _, reference := range references {
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		switch root {
		case lookupsName:
			n.addLookups(s, name, seen)
		case variablesName:
			n.addVariables(s, name, seen)
		default:
			n.cluster = n.cluster || slices.Contains(namesOfCluster, root)
			n.parts = n.parts.Join(facts.Parts{
				Manifest: facts.InManifest(root, name), Seed: root == "seed" || root == imagesName, CloudProfile: root == "cloudProfile",
			})
			n.object = n.object || root == "object" || root == "pool" || root == imagesName
		}
	}
}

func (n *needs) addVariables(s *scope, name string, seen map[string]bool) {
	for _, declared := range s.variables {
		if (name == "" || declared.name == name) && !seen[declared.name] {
			seen[declared.name] = true
			n.add(s, declared.references(), seen)
		}
	}
}

// addLookups adds the named lookup, or all, and what the names of their objects need.
func (n *needs) addLookups(s *scope, name string, seen map[string]bool) {
	for _, l := range s.lookups {
		if (name == "" || l.request.Name == name) && !n.lookups[s][l.request.Name] {
			n.lookups[s][l.request.Name] = true
			n.add(s, l.references(), seen)
		}
	}
}
