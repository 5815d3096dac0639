// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// storage compares class and capacity of an etcd's volumes.
func (d *differ) storage() {
	if d.subject.form.Kind == "Etcd" {
		d.storageField("class", "spec", "storageClass")
		d.storageField("capacity", "spec", "storageCapacity")
		return
	}
	was, ok := claims(d.before)
	is, isOk := claims(d.after)
	before, after := was[d.subject.object.Name], is[d.subject.object.Name]
	if !ok || !isOk || before == nil || after == nil {
		return
	}
	for _, f := range []struct {
		name string
		path []string
	}{{"class", []string{"spec", "storageClassName"}}, {"capacity", []string{"spec", "resources", "requests", "storage"}}} {
		if value := at(after, f.path...); value != nil && !equal(at(before, f.path...), value) {
			d.add("storage", nil, value, f.name)
			drop(before, f.path...)
			drop(after, f.path...)
		}
	}
}

// claims are the claim templates of a StatefulSet by their names; false where they have none.
func claims(t tree) (map[string]tree, bool) {
	items, _ := at(t, "spec", "volumeClaimTemplates").([]any)
	byName := map[string]tree{}
	for _, item := range items {
		name := textAt(item, "metadata", "name")
		if name == "" || byName[name] != nil {
			return nil, false
		}
		byName[name] = item.(tree)
	}
	return byName, true
}

func (d *differ) storageField(name string, path ...string) {
	is := at(d.after, path...)
	if is != nil && !equal(at(d.before, path...), is) {
		d.add("storage", nil, is, name)
		drop(d.before, path...)
		drop(d.after, path...)
	}
}

// serviceFields are the fields of a Service that the operation knows.
func serviceFields() []string {
	definition, ok := operation.Lookup("service")
	if !ok || len(definition.Arguments) == 0 {
		return nil
	}
	return definition.Arguments[0].Type.Values
}

// service compares those fields of a Service that are a matter of the load balancer.
func (d *differ) service() {
	for _, field := range serviceFields() {
		was, had := treeAt(d.before, "spec")[field]
		is, has := treeAt(d.after, "spec")[field]
		switch {
		case had == has && equal(was, is):
		case !has:
			d.remove("service", nil, field)
		default:
			d.add("service", nil, is, "set", field)
		}
		drop(d.before, "spec", field)
		drop(d.after, "spec", field)
	}
}

// sidecarPrefix begins the name of the container that a provider adds to the machine-controller-manager.
const sidecarPrefix = "machine-controller-manager-provider-"

// policies compares the policies of a VerticalPodAutoscaler.
func (d *differ) policies() {
	path := []string{"spec", "resourcePolicy", "containerPolicies"}
	was, order, ok := keyed(at(d.before, path...), "containerName")
	is, now, isOk := keyed(at(d.after, path...), "containerName")
	if !ok || !isOk {
		return
	}
	for _, name := range order {
		if is[name] == nil {
			d.remove("containerPolicies", nil, name)
		}
	}
	at := fieldpath.Path{{Key: "spec"}, {Key: "resourcePolicy"}, {Key: "containerPolicies"}}
	for _, name := range now {
		policy := but(is[name], "containerName")
		provider, isSidecar := strings.CutPrefix(name, sidecarPrefix)
		if was[name] == nil && isSidecar && !d.owner.Other && equal(policy, tree{"controlledValues": "RequestsOnly"}) {
			d.add("machineControllerManagerProvider", nil, tree{"provider": provider})
			continue
		}
		value, removed, changed := mergeMembers(but(was[name], "containerName"), policy)
		if changed || was[name] == nil {
			d.add("containerPolicies", nil, value, "set", name)
		}
		for _, below := range removed {
			d.remove("fields", nil, append(slices.Clone(append(at, step(nil, "containerName", name)...)), below...).String())
		}
	}
	drop(d.before, path...)
	drop(d.after, path...)
}
