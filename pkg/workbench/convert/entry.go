// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// entry is one argument of one operation: the smallest difference that a rule can make.
type entry struct {
	owner     *target.Target
	operation string
	// fixed are the arguments that say which part of the object is meant, such as the container.
	fixed []argument
	// path leads to the value among the arguments; empty: the value is all arguments. "[]" at its end adds an item to a list.
	path  []string
	value any
	// in are the objects that have the difference, and purposes those of the OperatingSystemConfigs among them.
	in       []*subject
	purposes []string
	// refused is the reason why the engine refused the entry.
	refused string
}

type argument struct{ name, value string }

// item is the last step of a path to a list.
const item = "[]"

// String writes the operation with the path of the argument.
func (e *entry) String() string {
	words := []string{e.operation}
	for _, fixed := range e.fixed {
		words = append(words, fixed.value)
	}
	if path := textAt(e.value, "path"); len(e.path) == 0 && path != "" {
		words = append(words, path)
	}
	for _, step := range e.path {
		if step == item {
			step = scalarText(e.value)
		}
		words = append(words, step)
	}
	return strings.Join(words, " ")
}

// place returns the same text for entries that write to the same place.
func (e *entry) place() string {
	place := e.group() + "\x00" + strings.Join(e.path, "\x00")
	switch {
	case len(e.path) == 0:
		place += textAt(e.value, "path") + textAt(e.value, "provider")
	case e.path[len(e.path)-1] == item:
		place += string(rawOf(e.value))
	}
	return place
}

// group returns the same text for entries that can share a rule.
func (e *entry) group() string {
	form := ""
	if e.owner.Other {
		form = fmt.Sprint(e.owner.Forms[0])
	}
	return strings.Join([]string{string(e.set()), e.owner.Name, form, e.operation, fmt.Sprint(e.fixed)}, "\x00")
}

// set returns the set of webhooks for the entry according to the contract.
func (e *entry) set() target.Set {
	etcd := e.owner.Component == "etcd" && !e.owner.Garden
	switch {
	case etcd && e.operation == "containers" && len(e.path) > 1 && e.path[1] == "backup-restore":
		return target.Backup
	case etcd, e.owner.Name == "kube-apiserver-service":
		return target.Exposure
	}
	return target.ControlPlane
}

// merge adds the entries of one object to those of all objects. Where several objects have different values in one place, the first
// is proposed.
func merge(all, found []*entry) []*entry {
	for _, e := range found {
		i := slices.IndexFunc(all, func(other *entry) bool { return other.place() == e.place() })
		if i < 0 {
			all = append(all, e)
			continue
		}
		if !equal(all[i].value, e.value) {
			continue
		}
		all[i].in = append(all[i].in, e.in...)
		for _, purpose := range e.purposes {
			if !slices.Contains(all[i].purposes, purpose) {
				all[i].purposes = append(all[i].purposes, purpose)
			}
		}
	}
	return all
}

// rule is a list of entries that are arguments of one operation.
type rule struct {
	entries []*entry
}

func (r *rule) first() *entry { return r.entries[0] }

// arrange groups entries into rules, in the order of a profile.
func arrange(all []*entry) []*rule {
	var rules []*rule
	byGroup := map[string]*rule{}
	for _, e := range all {
		slices.Sort(e.purposes)
		group := e.group() + fmt.Sprint(e.purposes)
		r := byGroup[group]
		if r == nil || len(e.path) == 0 {
			r = &rule{}
			byGroup[group] = r
			rules = append(rules, r)
		}
		r.entries = append(r.entries, e)
	}
	slices.SortStableFunc(rules, func(a, b *rule) int {
		x, y := a.first(), b.first()
		return cmp.Or(
			cmp.Compare(slices.Index(target.Sets(), x.set()), slices.Index(target.Sets(), y.set())),
			compareBool(x.owner.Other, y.owner.Other),
			strings.Compare(x.owner.Name, y.owner.Name),
			cmp.Compare(rank(x.operation), rank(y.operation)),
			strings.Compare(x.group(), y.group()),
		)
	})
	return rules
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rank returns the order of an operation in a profile: containers are added before they are changed.
func rank(name string) int {
	if first := slices.Index([]string{"machineControllerManagerProvider", "containers"}, name); first >= 0 {
		return first - len(operation.Names())
	}
	return slices.Index(operation.Names(), name)
}

// arguments returns the arguments of the rule's operation.
func (r *rule) arguments() any {
	first := r.first()
	if len(first.path) == 0 {
		return escaped(first.value)
	}
	var all members
	for _, fixed := range first.fixed {
		all = append(all, member{fixed.name, fixed.value})
	}
	for _, e := range r.entries {
		all = all.set(e.path, escaped(e.value))
	}
	return all
}

// escaped returns a value with ${ escaped in its texts.
func escaped(value any) any {
	switch value := value.(type) {
	case tree:
		out := make(tree, len(value))
		for key, below := range value {
			out[key] = escaped(below)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = escaped(value[i])
		}
		return out
	case string:
		return strings.ReplaceAll(value, "${", "$${")
	}
	return value
}

// members are the members of an object in their order.
type members []member

type member struct {
	key   string
	value any
}

// set puts a value at a path; it appends to a list where the path ends so.
func (m members) set(path []string, value any) members {
	i := slices.IndexFunc(m, func(x member) bool { return x.key == path[0] })
	if i < 0 {
		i = len(m)
		m = append(m, member{key: path[0]})
	}
	switch {
	case len(path) == 1:
		m[i].value = value
	case path[1] == item:
		list, _ := m[i].value.([]any)
		m[i].value = append(slices.Clip(list), value)
	default:
		below, _ := m[i].value.(members)
		m[i].value = below.set(path[1:], value)
	}
	return m
}
