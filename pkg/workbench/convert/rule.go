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

// rule is what variants have in common, and all of them are its arguments.
type rule struct {
	set      target.Set
	name     string
	variants []*variant
}

func (r *rule) atom() *atom { return r.variants[0].atom }

// arrange makes rules of the variants: one for all that have target, operation, condition and purposes in common.
func (p *proposer) arrange(variants []*variant) []*rule {
	var rules []*rule
	byGroup := map[string]*rule{}
	for _, v := range variants {
		if v.refused != "" {
			continue
		}
		set := p.setOf(v.atom)
		group := strings.Join([]string{string(set), v.atom.group(), v.when, fmt.Sprint(v.purposes)}, "\x00")
		r := byGroup[group]
		if r == nil || v.atom.whole() {
			r = &rule{set: set}
			byGroup[group] = r
			rules = append(rules, r)
		}
		r.variants = append(r.variants, v)
	}
	slices.SortStableFunc(rules, compareRules)
	name(rules)
	return rules
}

func compareRules(a, b *rule) int {
	x, y := a.atom(), b.atom()
	return cmp.Or(
		cmp.Compare(slices.Index(target.Sets(), a.set), slices.Index(target.Sets(), b.set)),
		compareBool(x.owner.Other, y.owner.Other),
		strings.Compare(x.owner.Name, y.owner.Name),
		strings.Compare(formName(x.owner), formName(y.owner)),
		cmp.Compare(rank(x.operation), rank(y.operation)),
		strings.Compare(fmt.Sprint(x.fixed), fmt.Sprint(y.fixed)),
	)
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

// rank is where rules of an operation stand: what adds containers is before what changes them, and the rest is as in the registry.
func rank(name string) int {
	first := []string{"machineControllerManagerProvider", "containers", "initContainers"}
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first) + slices.Index(operation.Names(), name)
}

// words are what rules of an operation are called.
var words = map[string]string{
	"featureGates": "feature gates", "listFlags": "items of flags", "mapFlags": "entries of flags", "admissionPlugins": "admission plugins",
	"env": "environment", "initContainers": "init containers", "podLabels": "labels of pods", "podAnnotations": "annotations of pods", "checksumAnnotations": "checksums",
	"containerPolicies": "policies of containers", "configuration": "configuration of the kubelet", "sysctl": "kernel settings",
	"cri": "container runtime", "providerConfig": "configuration of the operating system", "machineControllerManagerProvider": "sidecar",
}

// name names the rules, each target's differently.
func name(rules []*rule) {
	seen := map[string]int{}
	for _, r := range rules {
		a, v := r.atom(), r.variants[0]
		parts := []string{cmp.Or(words[a.operation], a.operation)}
		for _, fixed := range a.fixed {
			parts = append(parts, fixed.value)
		}
		if path := textAt(a.value, "path"); a.whole() && path != "" {
			parts = append(parts, path)
		}
		if _, rest, ok := strings.Cut(v.when, `.satisfies("`); ok {
			constraint, _, _ := strings.Cut(rest, `"`)
			parts = append(parts, "of "+constraint)
		}
		if slices.Equal(v.purposes, []string{"provision"}) {
			parts = append(parts, "at the first start")
		}
		r.name = strings.Join(parts, " ")
		key := strings.Join([]string{string(r.set), a.owner.Name, formName(a.owner), r.name}, "\x00")
		if seen[key]++; seen[key] > 1 {
			r.name = fmt.Sprintf("%s, %d", r.name, seen[key])
		}
	}
}

// arguments are the arguments of the rule's operation.
func (r *rule) arguments() any {
	a := r.atom()
	if a.whole() {
		return r.variants[0].value
	}
	var all members
	for _, fixed := range a.fixed {
		all = all.with(fixed.name, fixed.value)
	}
	for _, v := range r.variants {
		all = all.set(v.atom.path, v.value)
	}
	return all
}

// members are the members of an object in their order.
type members []member

type member struct {
	key   string
	value any
}

func (m members) with(key string, value any) members { return append(m, member{key, value}) }

// set puts a value at a path, at the end of a list where the path ends so.
func (m members) set(path []string, value any) members {
	i := slices.IndexFunc(m, func(x member) bool { return x.key == path[0] })
	if i < 0 {
		i = len(m)
		m = m.with(path[0], nil)
	}
	switch {
	case len(path) == 1:
		m[i].value = value
	case path[1] == item:
		list, _ := m[i].value.([]any)
		m[i].value = slices.Concat(list, []any{value})
	default:
		below, _ := m[i].value.(members)
		m[i].value = below.set(path[1:], value)
	}
	return m
}
