// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"strings"
)

// notInPods are the fields below spec of an Etcd (etcd-druid api/core/v1alpha1, EtcdSpec) of which etcd-druid makes no part of its
// StatefulSet's pods, nor of the etcd configuration whose checksum is an annotation of them (etcd-druid internal/component/statefulset,
// builder.go), with what it makes of them.
var notInPods = map[string]Effect{
	"selector":                  {Impact: Nothing, What: "etcd-druid does not read it"},
	"etcd.clientService":        {Impact: Nothing, What: "etcd-druid changes the client Service"},
	"backup.snapshotCompaction": {Impact: Later, What: "the next compaction Job has it"},
	"storageCapacity":           {Impact: Later, What: "volumes of a new etcd; for one that exists the StatefulSet refuses it"},
	"storageClass":              {Impact: Later, What: "volumes of a new etcd; for one that exists the API server refuses it"},
	"volumeClaimTemplate":       {Impact: Later, What: "volumes of a new etcd; for one that exists the API server refuses it"},
}

// etcd is what etcd-druid makes of an Etcd at the reconciliation that gardenlet asks for in the same write. A field that is not known
// here counts as one of the pods: most are flags of etcd or of the backup sidecar.
func etcd(c *change) []Effect {
	effects := c.etcdScaled()
	var places []string
	for _, field := range c.etcdFields() {
		if effect, ok := notInPods[field]; ok {
			effect.Places = c.places("spec." + field)
			effects = append(effects, effect)
		} else if field != "replicas" {
			places = append(places, c.places("spec."+field)...)
		}
	}
	switch {
	case len(places) == 0:
	case c.noPods():
		effects = append(effects, Effect{Later, "no pods run (replicas: 0); those that are started later have it", places})
	default:
		effects = append(effects, Effect{Pods, "etcd pods are replaced, one after the other", places})
	}
	return effects
}

// etcdScaled is a change of the number of members. Between one and several the readiness probe is another, which replaces pods, too.
func (c *change) etcdScaled() []Effect {
	effects := c.scaled()
	was, is := c.before.replicas(), c.after.replicas()
	if was > 0 && is > 0 && (was > 1) != (is > 1) {
		effects = append(effects, Effect{Pods, "etcd pods are replaced, as one member and several have other probes", []string{"spec.replicas"}})
	}
	return effects
}

// etcdFields are the changed fields below spec; those of etcd and backup one by one.
func (c *change) etcdFields() []string {
	var fields []string
	for _, parent := range []string{"", "etcd", "backup"} {
		path := []string{"spec"}
		if parent != "" {
			path = append(path, parent)
		}
		names := map[string]bool{}
		for _, side := range []node{c.before.at(path...), c.after.at(path...)} {
			for name := range side.keys() {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if (parent != "" || name != "etcd" && name != "backup") && c.changed(append(path, name)...) {
				fields = append(fields, strings.TrimPrefix(parent+"."+name, "."))
			}
		}
	}
	return fields
}
