// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
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

// group returns the same text for entries that can share a rule.
func (e *entry) group() string {
	return fmt.Sprintf("%s\x00%t\x00%s\x00%v\x00%s\x00%v\x00", e.set(), e.owner.Other, e.owner.Name, e.owner.Forms[0], e.operation, e.fixed)
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
		switch known := knownAs(all, e); {
		case known == nil:
			all = append(all, e)
		case equal(known.value, e.value):
			known.in = append(known.in, e.in...)
		}
	}
	return all
}

// knownAs returns the entry that writes to the same place, or nil.
func knownAs(all []*entry, e *entry) *entry {
	i := slices.IndexFunc(all, func(other *entry) bool { return other.group() == e.group() && other.String() == e.String() })
	if i < 0 {
		return nil
	}
	return all[i]
}

// arrange groups entries into rules, sorted by set and target.
func arrange(all []*entry) [][]*entry {
	groups := map[string][]*entry{}
	for _, e := range all {
		group := e.group() + fmt.Sprint(e.purposes())
		groups[group] = append(groups[group], e)
	}
	var rules [][]*entry
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		rules = append(rules, groups[group])
	}
	return rules
}

// write returns a profile with the rules.
func (p *proposer) write(rules [][]*entry) ([]byte, error) {
	head := tree{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindProviderProfile,
		"metadata": tree{"name": p.options.Name}, "providers": []any{p.options.Provider},
	}
	if p.kubernetes != "" {
		head["kubernetes"] = p.kubernetes
	}
	parts := []tree{head}
	for _, name := range target.Sets() {
		set := tree{}
		for i, rule := range rules {
			switch e := rule[0]; {
			case e.set() != name:
			case !e.owner.Other:
				put(set, ruleOf(rule), e.owner.Name, item)
			default:
				if i == 0 || !sameTarget(rules[i-1][0].owner, e.owner) {
					put(set, objectOf(e.owner.Forms[0]), v1alpha1.ObjectsField, item)
				}
				objects := find[[]any](set, v1alpha1.ObjectsField)
				put(find[tree](objects[len(objects)-1]), ruleOf(rule), "rules", item)
			}
		}
		if len(set) > 0 {
			parts = append(parts, tree{string(name): set})
		}
	}
	var out bytes.Buffer
	for i, part := range parts {
		if i > 0 {
			out.WriteByte('\n')
		}
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		encoder.CompactSeqIndent()
		if err := encoder.Encode(part); err != nil {
			return nil, fmt.Errorf("writing the profile: %w", err)
		}
	}
	return out.Bytes(), nil
}

// objectOf returns an object that the contract does not name, without rules.
func objectOf(form target.Form) tree {
	gvk := schema.GroupVersionKind{Group: form.Group, Version: form.Version, Kind: form.Kind}
	object := tree{"apiVersion": gvk.GroupVersion().String(), "kind": form.Kind, "name": form.Name}
	if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural.Resource != strings.ToLower(form.Kind)+"s" {
		object["resource"] = plural.Resource
	}
	return object
}

// ruleOf returns a rule as a profile has it.
func ruleOf(rule []*entry) tree {
	e, arguments := rule[0], tree{}
	for _, fixed := range e.fixed {
		arguments[fixed.name] = fixed.value
	}
	for _, e := range rule {
		value := escaped(e.value)
		if len(e.path) == 0 {
			maps.Copy(arguments, value.(tree))
			continue
		}
		put(arguments, value, e.path...)
	}
	out := tree{e.operation: arguments}
	if purposes := e.purposes(); len(purposes) > 0 && !slices.Equal(purposes, []string{"reconcile"}) {
		out["purposes"] = purposes
	}
	return out
}

// put writes a value at a path of an object. It makes the objects and the list on the path.
func put(t tree, value any, path ...string) {
	name, below := path[0], path[1:] //nolint:gosec // every path has a step
	switch {
	case len(below) == 0:
		t[name] = value
	case slices.Index(below, item) == 0:
		t[name] = append(find[[]any](t, name), value)
	default:
		if find[tree](t, name) == nil {
			t[name] = tree{}
		}
		put(find[tree](t, name), value, below...)
	}
}

// escaped returns a copy of a value without expressions.
func escaped(value any) any {
	var out any
	_ = json.Unmarshal(bytes.ReplaceAll(rawOf(value), []byte("${"), []byte("$${")), &out) // It was encoded just now.
	return out
}
