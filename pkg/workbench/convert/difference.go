// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// differ collects the entries of one object.
type differ struct {
	subject *subject
	// owner is the target of the next entries.
	owner   *target.Target
	entries []*entry
}

// differences returns the entries that turn one state of an object into another.
func differences(before, after tree, s *subject) []*entry {
	d := &differ{subject: s, owner: s.target}
	c := comparison{
		own:    d.compareOwn,
		items:  true,
		set:    func(p fieldpath.Path, value any) { d.add("fields", nil, value, "set", p.String()) },
		remove: func(p fieldpath.Path) { d.remove("fields", nil, p.String()) },
	}
	c.compare(nil, before, after)
	return d.entries
}

func (d *differ) add(operation string, fixed []argument, value any, path ...string) {
	d.entries = append(d.entries, &entry{owner: d.owner, operation: operation, fixed: fixed, path: path, value: value, in: []*subject{d.subject}})
}

// remove adds the removal of a name.
func (d *differ) remove(operation string, fixed []argument, name string) {
	d.add(operation, fixed, name, "remove", item)
}

// named adds an entry for each name that has another value or none. The prefix leads to set and remove.
func (d *differ) named(operation string, fixed []argument, before, after tree, prefix ...string) {
	for _, name := range keys(before, after) {
		was, had := before[name]
		switch is, has := after[name]; {
		case !has:
			d.add(operation, fixed, name, append(slices.Clone(prefix), "remove", item)...)
		case !had || !equal(was, is):
			d.add(operation, fixed, is, append(slices.Clone(prefix), "set", name)...)
		}
	}
}

// compareFunc compares a part of an object. It returns false if the operation of the part cannot write the difference.
type compareFunc func(p fieldpath.Path, before, after any) bool

// compareOwn compares a part of the object that has an operation of its own. It returns false for all other parts.
func (d *differ) compareOwn(p fieldpath.Path, before, after any) bool {
	path := strings.Join(p.Keys(), ".")
	if d.subject.form.Kind == "Secret" && (path == "data" || path == "stringData") {
		d.add("fields", nil, nil, "set", path)
		d.entries[len(d.entries)-1].refused = "data of a Secret is not proposed; rules read it with a lookup"
		return true
	}
	for _, place := range []struct {
		path    string
		parts   target.Part
		compare compareFunc
	}{
		{"metadata.labels", target.Metadata, d.texts("labels")},
		{"metadata.annotations", target.Metadata, d.texts("annotations")},
		{"spec.template.metadata.labels", target.PodTemplate, d.texts("podLabels")},
		{"spec.template.metadata.annotations", target.PodTemplate, d.texts("podAnnotations")},
		{"spec.template.spec.containers", target.PodTemplate, d.items("containers", "name")},
		{"spec.template.spec.volumes", target.PodTemplate, d.items("volumes", "name")},
		{"spec.storageClass", target.Storage, d.storage("class")},
		{"spec.storageCapacity", target.Storage, d.storage("capacity")},
		{"spec.units", target.Units, d.units},
		{"spec.files", target.Files, d.files},
	} {
		if path == place.path && d.subject.form.Has(place.parts) {
			return place.compare(p, before, after)
		}
	}
	return false
}

// texts returns a comparison of labels or annotations.
func (d *differ) texts(operation string) compareFunc {
	return func(_ fieldpath.Path, before, after any) bool {
		d.named(operation, nil, find[tree](before), find[tree](after))
		return true
	}
}

// items returns a comparison of the items of a list that an operation sets, merges and removes; volumes are set whole.
func (d *differ) items(operation, key string) compareFunc {
	return func(list fieldpath.Path, before, after any) bool {
		was, is, ok := itemsOf(before, after, key)
		for _, name := range keys(was, is) {
			if was[name] == nil || is[name] == nil || operation == "volumes" {
				continue
			}
			if item := itemOf(list, key, name); operation == "containers" {
				d.container(item, find[tree](was, name), find[tree](is, name))
			} else {
				d.merged(operation, item).compare(item, was[name], is[name])
			}
			is[name] = was[name]
		}
		d.named(operation, nil, was, is)
		return ok
	}
}

// storage returns a comparison of a field of an Etcd that the operation storage writes.
func (d *differ) storage(name string) compareFunc {
	return func(_ fieldpath.Path, before, after any) bool {
		if after != nil && !sameQuantity(before, after) {
			d.add("storage", nil, after, name)
		}
		return after != nil
	}
}

// merged returns a comparison of an item that an operation merges; fields removes its members.
func (d *differ) merged(operation string, item fieldpath.Path) comparison {
	return comparison{
		set: func(p fieldpath.Path, value any) {
			d.add(operation, nil, value, append([]string{"set", item[len(item)-1].Key}, p[len(item):].Keys()...)...)
		},
		remove: func(p fieldpath.Path) { d.remove("fields", nil, p.String()) },
	}
}

// comparison adds the differences of two values.
type comparison struct {
	// own compares a part that the comparison does not descend into; it returns false for other parts. It may be nil.
	own    compareFunc
	set    func(p fieldpath.Path, value any)
	remove func(p fieldpath.Path)
	// items reports that paths may lead to items of lists; lists are set whole otherwise.
	items bool
}

func (c comparison) compare(p fieldpath.Path, before, after any) {
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	switch {
	case equal(before, after), isQuantity(p) && sameQuantity(before, after):
	case c.own != nil && c.own(p, before, after):
	case after == nil:
		c.remove(p)
	case isTree && (wasTree || before == nil && len(is) > 0):
		for _, key := range keys(was, is) {
			c.compare(p.With(key), was[key], is[key])
		}
	case c.items && c.list(p, before, after):
	default:
		c.set(p, after)
	}
}

// list compares lists of named items. It returns false if items have no names, or the list does more than grow, unless
// its order has no meaning for rules.
func (c comparison) list(p fieldpath.Path, before, after any) bool {
	unordered := slices.Contains([]string{"initContainers", "containerPolicies"}, p[len(p)-1].Key)
	for _, key := range []string{"name", "path", "containerName", "key", "host", "id"} {
		was, is, ok := itemsOf(before, after, key)
		for i, item := range find[[]any](before) {
			ok = ok && (unordered || i < len(is) && find[string](item, key) == find[string](find[[]any](after)[i], key))
		}
		if !ok || len(was) == 0 {
			continue
		}
		for _, name := range keys(was, is) {
			c.compare(itemOf(p, key, name), was[name], is[name])
		}
		return true
	}
	return false
}

// isQuantity reports whether a path leads to an amount of a resource.
func isQuantity(p fieldpath.Path) bool {
	return len(p) > 1 && slices.Contains([]string{"requests", "limits", "minAllowed", "maxAllowed"}, p[len(p)-2].Key)
}

// sameQuantity reports whether two values are equal, or the same quantity in different spellings.
func sameQuantity(a, b any) bool {
	x, errA := resource.ParseQuantity(fmt.Sprint(a))
	y, errB := resource.ParseQuantity(fmt.Sprint(b))
	return equal(a, b) || errA == nil && errB == nil && x.Cmp(y) == 0
}

// itemOf returns the path of the item of a list with this name.
func itemOf(list fieldpath.Path, key, name string) fieldpath.Path {
	return append(list[:len(list):len(list)], fieldpath.Step{Key: name, By: key, Quoted: true})
}

// container compares a container: its flags, environment and mounts, and the other fields.
func (d *differ) container(path fieldpath.Path, before, after tree) {
	var fixed []argument
	name := path[len(path)-1].Key
	if name != d.owner.Container {
		fixed = []argument{{"container", name}}
	}
	was, is := commandOf(before), commandOf(after)
	if was != nil && is != nil && slices.Equal(was.Program(), is.Program()) {
		d.flags(fixed, &was.FlagList, &is.FlagList)
		before, after = but(before, "command", "args"), but(after, "command", "args")
	}
	c := d.merged("containers", path)
	c.own = func(p fieldpath.Path, before, after any) bool {
		was, is, ok := itemsOf(before, after, "name")
		switch p[len(path):].String() {
		case "env":
			d.named("env", fixed, sources(was), sources(is))
			return ok
		case "volumeMounts":
			d.mounts(p, name, find[[]any](before), find[[]any](after))
			return true
		}
		return false
	}
	c.compare(path, before, after)
}

// sources returns the sources of environment variables, or their texts.
func sources(variables tree) tree {
	out := tree{}
	for name, variable := range variables {
		out[name] = cmp.Or(at(variable, "valueFrom"), at(variable, "value"), any(""))
	}
	return out
}

// mounts proposes the new mounts of a container. A removed volume takes its mounts with it; the engine refuses to remove
// others.
func (d *differ) mounts(p fieldpath.Path, container string, before, after []any) {
	added := slices.DeleteFunc(slices.Clone(after), func(mount any) bool {
		return slices.ContainsFunc(before, func(other any) bool { return equal(mount, other) })
	})
	if len(added) > 0 {
		d.add("containers", nil, added, "set", container, "volumeMounts")
	} else {
		d.remove("fields", nil, p.String())
	}
}

// commandOf reads the command line of a container; nil where it is not one of flags.
func commandOf(container tree) *commandline.CommandLine {
	parsed, err := document.Parse(rawOf(container))
	if err != nil {
		return nil
	}
	line, _ := commandline.CommandLineOf(parsed.Root()) // nil if it fails
	return line
}

// flags compares flags; without a fixed container they are the component's.
func (d *differ) flags(fixed []argument, before, after *commandline.FlagList) {
	for _, name := range union(after.Names(), before.Names()) {
		was, is := before.Values(name), after.Values(name)
		history, _ := kubeflags.Flag(d.owner.Component, name)
		isMap := fixed == nil && strings.HasPrefix(history.Type, "map")
		switch {
		case slices.Equal(was, is) && before.Bare(name) == after.Bare(name):
		case fixed == nil && name == "feature-gates":
			d.gates(entriesOf(was), entriesOf(is))
		case is == nil:
			d.remove("flags", fixed, name)
		case isMap && len(was) == 1 && len(is) == 1:
			d.named("mapFlags", nil, entriesOf(was), entriesOf(is), name)
		case after.Bare(name):
			d.add("flags", fixed, nil, "set", name)
		default:
			d.add("flags", fixed, oneOrMore(is), "set", name)
		}
	}
}

// entriesOf returns the entries of a flag with a map, with true and false as such.
func entriesOf(values []string) tree {
	entries := tree{}
	for key, value := range commandline.MapValue(strings.Join(values, ",")).Entries() {
		entries[key] = value
		if value == "true" || value == "false" {
			entries[key] = value == "true"
		}
	}
	return entries
}

// gates adds an entry for each feature gate that differs; null removes one.
func (d *differ) gates(before, after tree) {
	for _, name := range keys(before, after) {
		if !equal(before[name], after[name]) {
			d.add("featureGates", nil, after[name], name)
		}
	}
}

// oneOrMore returns one text, or a list of several.
func oneOrMore(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}
