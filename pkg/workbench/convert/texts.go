// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// pathTo is a path of members.
func pathTo(keys ...string) fieldpath.Path {
	var p fieldpath.Path
	for _, key := range keys {
		p = p.With(key)
	}
	return p
}

// yamlTree reads a YAML document that the engine can edit; false for another text.
func yamlTree(text string) (tree, bool) {
	if !utf8.ValidString(text) {
		return nil, false
	}
	parsed, err := yamledit.Parse([]byte(text))
	if err != nil {
		return nil, false
	}
	value, _ := parsed.Get()
	members, ok := value.(tree)
	if !ok || len(members) == 0 {
		return nil, false
	}
	// As JSON, so that numbers are what they are in an object.
	read, err := decodeTree(rawOf(members))
	return read, err == nil
}

// configuration compares the kubelet's configuration file; false where it cannot be read.
func (d *differ) configuration(before, after string) bool {
	was, ok := yamlTree(before)
	is, isOk := yamlTree(after)
	if !ok || !isOk {
		return false
	}
	d.kubelet(func() {
		d.kubeletGates(treeAt(was, "featureGates"), treeAt(is, "featureGates"))
		before, after := but(was, "featureGates"), but(is, "featureGates")
		for _, field := range union(after, before) {
			old, had := before[field]
			now, has := after[field]
			switch {
			case had == has && equal(old, now):
			case !has:
				d.remove("configuration", nil, field)
			default:
				d.add("configuration", nil, changedMembers(old, now), "set", field)
			}
		}
	})
	return true
}

// changedMembers is what has to be merged; members that go are null.
func changedMembers(before, after any) any {
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	if !wasTree || !isTree {
		return after
	}
	out := tree{}
	for _, key := range union(is, was) {
		now, has := is[key]
		switch old, had := was[key]; {
		case !has:
			out[key] = nil
		case !had || !equal(old, now):
			out[key] = changedMembers(old, now)
		}
	}
	return out
}

// kubeletGates compares the feature gates of the configuration file.
func (d *differ) kubeletGates(was, is tree) {
	for _, gate := range union(is, was) {
		switch now, has := is[gate]; {
		case equal(was[gate], now):
		case !has:
			d.add("featureGates", nil, nil, gate).plain = true
		default:
			d.add("featureGates", nil, now, gate).plain = true
		}
	}
}

// texts compares the texts of a ConfigMap that are documents.
func (d *differ) texts() {
	if d.subject.form.Kind != "ConfigMap" || d.subject.form.Group != "" {
		return
	}
	was, is := treeAt(d.before, "data"), treeAt(d.after, "data")
	for _, key := range union(is, was) {
		before, after := textAt(was, key), textAt(is, key)
		if before == after || before == "" || after == "" {
			continue
		}
		if d.document([]argument{{"at", pathTo("data", key).String()}}, before, after, strings.HasSuffix(key, ".json")) {
			delete(was, key)
			delete(is, key)
		}
	}
}

// document compares a document inside the object, field by field; false where it is none, or where nothing in it is the same.
func (d *differ) document(fixed []argument, before, after string, json bool) bool {
	if d.subject.secrets.spans(before, after) {
		return false
	}
	was, ok := yamlTree(before)
	is, isOk := yamlTree(after)
	if !ok || !isOk || equal(was, is) {
		return false
	}
	if json {
		fixed = append(fixed, argument{"format", "json"})
	}
	f := fieldDiff{
		set:    func(p fieldpath.Path, value any) { d.add("document", fixed, value, "set", p.String()) },
		remove: func(p fieldpath.Path) { d.remove("document", fixed, p.String()) },
		append: func(p fieldpath.Path, items []any) {
			for _, value := range items {
				d.add("document", fixed, value, "append", p.String(), item)
			}
		},
	}
	f.compare(nil, was, is)
	return true
}
