// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// sidecarHook proposes the operation for the provider's sidecar, and puts into before what it makes; false: it is no such container.
type sidecarHook func(s *subject, d *differ, name string) bool

// lists are the lists of containers, each with the operation of the same name.
var lists = []string{"containers", "initContainers"}

// podSpec is where the pods of a workload are described.
var podSpec = []string{"spec", "template", "spec"}

// pods compares containers and volumes.
func (d *differ) pods(sidecar sidecarHook) {
	before, after := treeAt(d.before, podSpec...), treeAt(d.after, podSpec...)
	if before == nil || after == nil {
		return
	}
	m := mounting{before: map[string][]tree{}, after: map[string][]tree{}}
	for _, list := range lists {
		was, order, ok := keyed(before[list], "name")
		is, now, isOk := keyed(after[list], "name")
		if !ok || !isOk {
			continue
		}
		for _, name := range order {
			if is[name] == nil {
				d.remove(list, nil, name)
			}
		}
		for _, name := range now {
			if was[name] == nil && list == "containers" && d.owner.Has(target.ProviderSidecar) && sidecar != nil && sidecar(d.subject, d, name) {
				was, _, _ = keyed(treeAt(d.before, podSpec...)[list], "name")
			}
			if was[name] == nil {
				d.add(list, nil, but(is[name], "name"), "set", name)
				continue
			}
			d.container(list, name, was[name], is[name])
			m.see(name, was[name], is[name])
		}
		delete(before, list)
		delete(after, list)
	}
	d.volumes(before, after, m)
}

// container compares a container that is there before and after.
func (d *differ) container(list, name string, before, after tree) {
	d.commandLine(name, before, after)
	d.env(name, before, after)
	was, is := but(before, "name", "volumeMounts"), but(after, "name", "volumeMounts")
	path := fieldpath.Path{{Key: "spec"}, {Key: "template"}, {Key: "spec"}, {Key: list}, step(nil, "name", name)[0]}
	for _, field := range union(is, was) {
		value, removed, changed := mergeDiff(was[field], is[field], field)
		if _, has := is[field]; !has {
			removed, changed = []fieldpath.Path{{}}, false
		}
		if changed {
			d.add(list, nil, value, "set", name, field)
		}
		for _, below := range removed {
			d.remove("fields", nil, append(path.With(field), below...).String())
		}
	}
}

// env compares environment variables by their names.
func (d *differ) env(container string, before, after tree) {
	was, _, ok := keyed(before["env"], "name")
	is, order, isOk := keyed(after["env"], "name")
	if !ok || !isOk {
		return
	}
	fixed := containerArgument(container, container == d.owner.Container)
	for _, name := range union(was, nil) {
		if is[name] == nil {
			d.remove("env", fixed, name)
		}
	}
	for _, name := range order {
		if equal(was[name], is[name]) {
			continue
		}
		var value any = textAt(is[name], "value")
		if from := treeAt(is[name], "valueFrom"); from != nil {
			value = from
		}
		d.add("env", fixed, value, "set", name)
	}
	delete(before, "env")
	delete(after, "env")
}

// mounting are the mounts of the containers that are there before and after, by container.
type mounting struct {
	before, after map[string][]tree
	// order is that of the containers.
	order []string
}

func (m *mounting) see(container string, before, after tree) {
	mounts := func(value any) []tree {
		items, _ := value.([]any)
		var all []tree
		for _, item := range items {
			if mount, ok := item.(tree); ok {
				all = append(all, mount)
			}
		}
		return all
	}
	m.before[container], m.after[container] = mounts(before["volumeMounts"]), mounts(after["volumeMounts"])
	m.order = append(m.order, container)
}

// of are the mounts of a volume, without its name.
func of(mounts []tree, volume string) []tree {
	var all []tree
	for _, mount := range mounts {
		if textAt(mount, "name") == volume {
			all = append(all, but(mount, "name"))
		}
	}
	return all
}

// volumesNamed are the volumes that mounts name.
func (m *mounting) volumesNamed() map[string]bool {
	names := map[string]bool{}
	for _, mounts := range m.after {
		for _, mount := range mounts {
			names[textAt(mount, "name")] = true
		}
	}
	return names
}

// volumes compares volumes, together with the mounts of the containers.
func (d *differ) volumes(before, after tree, m mounting) {
	was, order, ok := keyed(before["volumes"], "name")
	is, now, isOk := keyed(after["volumes"], "name")
	if !ok || !isOk {
		return
	}
	for _, name := range order {
		if is[name] == nil {
			d.remove("volumes", nil, name)
		}
	}
	known := map[string]bool{}
	for _, name := range append(now, union(m.volumesNamed(), nil)...) {
		if known[name] || name == "" {
			continue
		}
		known[name] = true
		value := tree{}
		if is[name] != nil && !equal(was[name], is[name]) {
			value = but(is[name], "name")
		}
		if mount := d.mounts(name, m); mount != nil {
			value["mount"] = mount
		}
		if len(value) > 0 {
			d.add("volumes", nil, value, "set", name)
		}
	}
	delete(before, "volumes")
	delete(after, "volumes")
}

// mounts is the mount of a volume for as many containers as have the same; those of others become fields of the containers.
func (d *differ) mounts(volume string, m mounting) tree {
	var (
		common     tree
		containers []any
	)
	for _, container := range m.order {
		was, is := of(m.before[container], volume), of(m.after[container], volume)
		if equal(was, is) || len(is) == 0 {
			continue
		}
		if len(is) == 1 && len(was) <= 1 && (common == nil || equal(common, is[0])) {
			common, containers = is[0], append(containers, container)
			continue
		}
		var added []any
		for _, mount := range m.after[container] {
			if textAt(mount, "name") == volume && !contains(m.before[container], mount) {
				added = append(added, mount)
			}
		}
		d.add("containers", nil, added, "set", container, "volumeMounts")
	}
	if common == nil {
		return nil
	}
	common = but(common)
	if len(containers) > 1 || containers[0] != d.owner.Container {
		common["containers"] = containers
	}
	return common
}

func contains(all []tree, one tree) bool {
	for _, other := range all {
		if equal(other, one) {
			return true
		}
	}
	return false
}
