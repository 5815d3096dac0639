// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// fields defines the operation that sets and removes any field of an object without an operation of its own.
func fields() Definition {
	return Definition{
		Name: "fields",
		Summary: "sets and removes fields of the object by their paths, and appends to lists what they lack, " +
			"where no other operation knows more of them: keys with dots between them, " +
			"[\"key\"] for a key with dots, [name=x] for the item of a list that has this member; mappings are merged, and null removes",
		Example: "fields: {set: {spec.backup.deltaSnapshotPeriod: 5m}, remove: [spec.backup.fullSnapshotSchedule]}",
		Examples: []string{
			"fields: {set: {'data[\"region.conf\"]': \"${ shoot.region }\", 'spec.rules[name=x].limits': {cpu: 1}}}",
			"fields: {append: {spec.zones: [a, \"${ shoot.region }\"]}}",
		},
		Arguments: []Argument{
			{Name: "set", Type: mappingOf(orNull(anyTree)), Summary: "fields to set, by path; null removes"},
			{Name: "append", Type: mappingOf(computed(listOf(anyTree))), Summary: "required items by the path of the list; missing ones are appended"},
			{Name: "remove", Type: names, Summary: "paths of fields and of items of lists to remove"},
		},
		Parts: target.Metadata,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			var a fieldEdits
			if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
				return nil, findings
			}
			return fieldCompiler{
				context: c, place: Place{Kind: Field},
				check:    func(p fieldPath, removed bool) string { return checkOwner(c.Target, p, removed) },
				apply:    applyField,
				keep:     func(p fieldPath) func(*target.Object) error { return p.keep },
				appendTo: appendToField,
				trace:    func(p fieldPath) (Trace, bool) { return Trace{Path: p.String()}, isLasting(p) },
			}.compile(arguments, path, a)
		},
	}
}

func applyField(p fieldPath) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		defer o.ForgetCommandLines()
		if v.Absent {
			p.remove(o.Document.Root())
			return nil
		}
		return p.merge(o.Document.Root(), v.JSON)
	}
}

// appendToField returns a function that appends an item to the list at the path, or the items of a list.
func appendToField(p fieldPath, several bool) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		defer o.ForgetCommandLines()
		return (&embedded{tree: o.Document.Root()}).add(p, v.JSON, several)
	}
}
