// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"strings"
)

// worker is what the worker controller of a provider makes of a Worker. Machines are replaced when the hash of their pool is another
// (gardener extensions/pkg/controller/worker/machines.go, WorkerPoolHash): it is made of the name of the node agent's Secret where the
// pool has one (version 2, and in-place updates), of the fields in hashed otherwise, and of what each provider adds to either.
func worker(c *change) []Effect {
	was, is := c.before.at("spec", "pools").by("name"), c.after.at("spec", "pools").by("name")
	var effects []Effect
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old, ok := was[name]
		if !ok {
			effects = append(effects, Effect{Scale, "the pool " + name + " is added", []string{poolPlace(name)}})
			continue
		}
		effects = append(effects, c.pool(name, old, is[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			effects = append(effects, Effect{Nodes, "the nodes of the pool " + name + " are removed", []string{poolPlace(name)}})
		}
	}
	return effects
}

func poolPlace(name string) string { return "spec.pools[" + name + "]" }

// hashed are the fields of a pool in version 1 of the hash.
var hashed = []string{"machineType", "machineImage", "volume", "providerConfig"}

func (c *change) pool(name string, was, is node) []Effect {
	var places []string
	note := func(field string) { places = append(places, c.places(poolPlace(name)+"."+field)...) }
	byName := is.at("nodeAgentSecretName").there()
	if was.text("nodeAgentSecretName") != is.text("nodeAgentSecretName") {
		note("nodeAgentSecretName")
	}
	if !byName {
		for _, field := range hashed {
			if !was.at(field).equal(is.at(field)) {
				note(field)
			}
		}
		if minor(was.text("kubernetesVersion")) != minor(is.text("kubernetesVersion")) {
			note("kubernetesVersion")
		}
	}
	switch {
	case len(places) > 0:
		return []Effect{{Nodes, "the nodes of the pool " + name + " are replaced", places}}
	case was.equal(is):
		return nil
	default:
		return []Effect{{
			Later, "machines of the pool " + name + " that are made from now on have it; the provider may replace nodes for what it adds to the pool's hash",
			c.places(poolPlace(name)),
		}}
	}
}

// minor is a version without its patch.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
