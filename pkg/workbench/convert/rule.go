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
	// path leads to the value among the other arguments; empty: the value is all of them. "[]" at its end adds an item to a
	// list.
	path  []string
	value any
	// in are the objects that have the difference.
	in []*subject
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
	for _, step := range e.path {
		if step == item {
			step = fmt.Sprint(e.value)
		}
		words = append(words, step)
	}
	return strings.Join(words, " ")
}

// place returns the same text for entries that write to the same place.
func (e *entry) place() string { return e.group() + "\x00" + e.String() }

// group returns the same text for entries that can share a rule.
func (e *entry) group() string {
	return strings.Join([]string{string(e.set()), e.owner.Name, fmt.Sprint(e.owner.Forms[0]), e.operation, fmt.Sprint(e.fixed)}, "\x00")
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

// purposes returns the purposes of the OperatingSystemConfigs with the difference, sorted.
func (e *entry) purposes() []string {
	var purposes []string
	for _, s := range e.in {
		if s.purpose != "" {
			purposes = append(purposes, s.purpose)
		}
	}
	return union(purposes, nil)
}

// sameTarget reports whether two targets are the same, or select the same objects that the contract does not name.
func sameTarget(a, b *target.Target) bool { return a.Name == b.Name && a.Forms[0] == b.Forms[0] }

// merge adds the entries of one object to those of all objects. Where several objects have different values in one
// place, the first is proposed.
func merge(all, found []*entry) []*entry {
	for _, e := range found {
		replaces := func(other *entry) bool {
			return other.operation == "machineControllerManagerProvider" && other.owner == e.owner &&
				e.operation == "containers" && len(e.path) > 2 && e.path[1] == sidecarPrefix+other.fixed[0].value
		}
		i := slices.IndexFunc(all, func(other *entry) bool { return other.place() == e.place() })
		switch {
		case i >= 0 && equal(all[i].value, e.value):
			all[i].in = append(all[i].in, e.in...)
		case i < 0:
			if slices.ContainsFunc(all, replaces) {
				e.refused = "it would replace the sidecar that machineControllerManagerProvider makes"
			}
			all = append(all, e)
		}
	}
	return all
}

// arrange groups entries into rules, in the order of a profile.
func arrange(all []*entry) [][]*entry {
	var rules [][]*entry
	byGroup := map[string]int{}
	for _, e := range all {
		group := e.group() + fmt.Sprint(e.purposes())
		i, known := byGroup[group]
		if !known {
			i = len(rules)
			byGroup[group] = i
			rules = append(rules, nil)
		}
		rules[i] = append(rules[i], e)
	}
	for _, rule := range rules {
		removal := func(e *entry) int { return slices.Index(e.path, "remove") }
		slices.SortStableFunc(rule, func(a, b *entry) int { return cmp.Compare(removal(a), removal(b)) })
	}
	slices.SortStableFunc(rules, func(a, b []*entry) int { return strings.Compare(a[0].order(), b[0].order()) })
	return rules
}

// order returns a text that sorts the rules of a set: containers are added before they are changed.
func (e *entry) order() string {
	first := []string{"machineControllerManagerProvider", "containers"}
	rank := slices.Index(slices.Concat(first, operation.Names()), e.operation)
	return fmt.Sprintf("%t %s %03d %s", e.owner.Other, e.owner.Name, rank, e.group())
}
