// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// differ collects the entries of one object.
type differ struct {
	subject       *subject
	before, after tree
	// owner is the target of the next entries.
	owner   *target.Target
	entries []*entry
}

// differences returns the entries that turn one state of an object into another.
func differences(before, after tree, s *subject) []*entry {
	d := &differ{subject: s, before: before, after: after, owner: s.target}
	c := d.fields("fields")
	c.own = func(p fieldpath.Path, was, is any) bool { return d.compareOwn(c, p, was, is) }
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

// place is a part of an object that has an operation of its own.
type place struct {
	path  string
	parts target.Part
	// compare returns false if the operation cannot write the difference.
	compare func(d *differ, p fieldpath.Path, before, after any) bool
}

// places returns the parts of objects that have operations of their own. All other parts belong to the operation fields.
func places() []place {
	return []place{
		{"metadata.labels", target.Metadata, texts("labels")},
		{"metadata.annotations", target.Metadata, texts("annotations")},
		{"spec.template.metadata.labels", target.PodTemplate, texts("podLabels")},
		{"spec.template.metadata.annotations", target.PodTemplate, texts("podAnnotations")},
		{"spec.template.spec.containers", target.PodTemplate, mergedItems("containers", "name")},
		{"spec.template.spec.volumes", target.PodTemplate, (*differ).volumes},
		{"spec.storageClass", target.Storage, storage("class")},
		{"spec.storageCapacity", target.Storage, storage("capacity")},
		{"spec.volumeClaimTemplates", target.Storage, (*differ).claims},
		{"spec.resourcePolicy.containerPolicies", target.ContainerPolicies, mergedItems("containerPolicies", "containerName")},
		{"spec.units", target.Units, (*differ).units},
		{"spec.files", target.Files, (*differ).files},
	}
}

// compareOwn compares a part of the object that has an operation of its own. It returns false for all other parts.
func (d *differ) compareOwn(c comparison, p fieldpath.Path, before, after any) bool {
	path := strings.Join(p.Keys(), ".")
	switch kind := d.subject.form.Kind; {
	case kind == "Secret" && (path == "data" || path == "stringData"):
		return true // Only the report mentions it.
	case kind == "ConfigMap" && len(p) == 2 && p[0].Key == "data":
		return d.document(argument{"at", p.String()}, p[1].Key, before, after)
	}
	for _, place := range places() {
		switch {
		case !d.subject.form.Has(place.parts):
		case path == place.path:
			return place.compare(d, p, before, after)
		case before == nil && treeAt(after) != nil && strings.HasPrefix(place.path, path+"."):
			c.compare(p, tree{}, after) // The new object holds such a part.
			return true
		}
	}
	return false
}

// texts returns a comparison of labels or annotations.
func texts(operation string) func(*differ, fieldpath.Path, any, any) bool {
	return func(d *differ, _ fieldpath.Path, before, after any) bool {
		d.named(operation, treeAt(before), treeAt(after))
		return true
	}
}

// named adds an entry for each name that has another value or none.
func (d *differ) named(operation string, before, after tree, prefix ...string) {
	for _, name := range keys(before, after) {
		switch value, has := after[name]; {
		case !has:
			d.add(operation, nil, name, append(slices.Clone(prefix), "remove", item)...)
		case !equal(before[name], value):
			d.add(operation, nil, value, append(slices.Clone(prefix), "set", name)...)
		}
	}
}

// items adds an entry for each item of a list that differs; valueOf returns what the operation writes for an item.
func (d *differ) items(operation string, fixed []argument, before, after any, valueOf func(tree) any) bool {
	pairs, ok := pairsOf(before, after, "name")
	for _, i := range pairs {
		switch {
		case i.after == nil:
			d.remove(operation, fixed, i.name)
		case !equal(i.before, i.after):
			d.add(operation, fixed, valueOf(i.after), "set", i.name)
		}
	}
	return ok
}

// storage returns a comparison of a field of an Etcd that the operation storage writes.
func storage(name string) func(*differ, fieldpath.Path, any, any) bool {
	return func(d *differ, _ fieldpath.Path, before, after any) bool {
		if after != nil && !sameQuantity(before, after) {
			d.add("storage", nil, after, name)
		}
		return after != nil
	}
}

// claims compares the volume claims of a StatefulSet: class and capacity of the one that the operation storage writes.
// Other differences remain for the next comparison.
func (d *differ) claims(p fieldpath.Path, before, after any) bool {
	known := len(d.entries)
	find := func(list any) any {
		for _, claim := range listAt(list) {
			if textAt(claim, "metadata", "name") == d.subject.object.Name {
				return at(claim, "spec")
			}
		}
		return nil
	}
	was, is := find(before), find(after)
	storage("class")(d, p, at(was, "storageClassName"), at(is, "storageClassName"))
	storage("capacity")(d, p, at(was, "resources", "requests", "storage"), at(is, "resources", "requests", "storage"))
	return len(d.entries) > known
}

// comparison adds the differences of two values.
type comparison struct {
	// own compares a part that the comparison does not descend into; it returns false for other parts. It may be nil.
	own    func(p fieldpath.Path, before, after any) bool
	set    func(p fieldpath.Path, value any)
	remove func(p fieldpath.Path)
	// items reports that paths may lead to items of lists; lists are set whole otherwise.
	items bool
}

// fields returns a comparison for an operation that takes paths of fields.
func (d *differ) fields(operation string, fixed ...argument) comparison {
	return comparison{
		set:    func(p fieldpath.Path, value any) { d.add(operation, fixed, value, "set", p.String()) },
		remove: func(p fieldpath.Path) { d.remove(operation, fixed, p.String()) },
		items:  true,
	}
}

func (c comparison) compare(p fieldpath.Path, before, after any) {
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	switch {
	case equal(before, after), isQuantity(p) && sameQuantity(before, after):
	case c.own != nil && c.own(p, before, after):
	case after == nil:
		c.remove(p)
	case wasTree && isTree:
		for _, key := range keys(was, is) {
			c.compare(p.With(key), was[key], is[key])
		}
	case len(listAt(before)) > 0 && len(listAt(after)) > 0 && c.list(p, before, after):
	default:
		c.set(p, after)
	}
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

// itemKeys lists the members that identify items of lists.
var itemKeys = []string{"name", "path", "containerName", "mountPath", "key", "host", "id"}

// list compares lists of named items. It returns false if items have no names, or new ones are not at the end.
func (c comparison) list(p fieldpath.Path, before, after any) bool {
	for _, key := range itemKeys {
		pairs, ok := pairsOf(before, after, key)
		if !ok {
			continue
		}
		if !inOrder(pairs, listAt(after), key) {
			return false
		}
		for _, i := range pairs {
			switch step := itemOf(p, key, i.name); {
			case i.after == nil:
				c.remove(step)
			case !c.items:
			case i.before == nil:
				c.set(step, but(i.after, key))
			default:
				c.compare(step, i.before, i.after)
			}
		}
		if !c.items {
			c.set(p, after)
		}
		return true
	}
	return false
}

// inOrder reports whether removing and appending items gives the list after. The order of the same items means nothing.
func inOrder(pairs []pair, after []any, key string) bool {
	if !slices.ContainsFunc(pairs, func(i pair) bool { return i.before == nil || i.after == nil }) {
		return true
	}
	kept := slices.DeleteFunc(slices.Clone(pairs), func(i pair) bool { return i.after == nil })
	return slices.EqualFunc(kept, after, func(i pair, other any) bool { return i.name == textAt(other, key) })
}

// plainItem matches names that need no quotes in [name=…]: texts that are no number.
var plainItem = regexp.MustCompile(`^[^]["'\x00-\x20\d-][^]["'\x00-\x1f]*$`)

// itemOf returns the path of the item of a list with this name.
func itemOf(list fieldpath.Path, key, name string) fieldpath.Path {
	quoted := !plainItem.MatchString(name) || name == "true" || name == "false"
	return append(list[:len(list):len(list)], fieldpath.Step{Key: name, By: key, Quoted: quoted})
}
