// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// fields defines the operation that sets and removes any field of an object without an operation of its own.
func fields() Definition {
	return Definition{
		Name: "fields",
		Summary: "sets and removes fields of the object by path, and appends missing items to lists; for fields without an operation of " +
			"their own. A path has keys separated by dots, [\"key\"] for a key with dots, and [name=x] for the list item with this member. " +
			"Mappings are merged, and null removes a field",
		Example: "fields: {set: {spec.backup.deltaSnapshotPeriod: 5m}, remove: [spec.backup.fullSnapshotSchedule]}",
		Examples: []string{
			"fields: {set: {'data[\"region.conf\"]': \"${ shoot.region }\", 'spec.rules[name=x].limits': {cpu: 1}}}",
			"fields: {append: {spec.zones: [a, \"${ shoot.region }\"]}}",
		},
		Arguments: []Argument{
			{Name: "set", Type: mappingOf(orNull(anyTree)), Summary: "fields to set, by path; null removes"},
			{Name: "append", Type: mappingOf(listOf(anyTree)), Summary: "required items by the path of the list; missing ones are appended"},
			{Name: "remove", Type: names, Summary: "paths of fields and of items of lists to remove"},
		},
		Parts: target.Metadata,
		compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return fieldCompiler{context: c, place: Place{Kind: Field}}.compile(arguments, path)
		},
	}
}

// owner is a field with an operation of its own, which merges by entry, keeps required values, and writes places known
// to the contract's clauses.
type owner struct {
	path      string
	parts     target.Part
	operation string
	// parted reports that the operation cannot remove a part of an entry, which fields may therefore do.
	parted bool
}

// fieldCompiler converts edits of fields, by path, to writes. A mapping becomes a write for each of its members, so
// that rules which set different members of it do not meet.
type fieldCompiler struct {
	context *Context
	place   Place
	// in is the document with the fields. Only fields of the object itself can be kept, and can have another operation.
	in documentPlace

	writes   []Write
	findings source.Findings
}

// owners is ordered by precedence. Its paths omit the items of lists.
var owners = []owner{
	{"metadata.labels", target.Metadata, "labels", false},
	{"metadata.annotations", target.Metadata, "annotations", false},
	{"spec.template.metadata.labels", target.PodTemplate, "podLabels", false},
	{"spec.template.metadata.annotations", target.PodTemplate, "podAnnotations", false},
	{"spec.template.spec.volumes", target.PodTemplate, "volumes", false},
	{"spec.template.spec.containers.command", target.PodTemplate, "flags", false},
	{"spec.template.spec.containers.args", target.PodTemplate, "flags", false},
	{"spec.template.spec.containers.env", target.PodTemplate, "env", false},
	{"spec.template.spec.containers.volumeMounts", target.PodTemplate, "volumes", false},
	{"spec.template.spec.containers", target.PodTemplate, "containers", true},
	{"spec.volumeClaimTemplates", target.Storage, "storage", false},
	{"spec.storageClass", target.Storage, "storage", false},
	{"spec.storageCapacity", target.Storage, "storage", false},
	{"spec.units", target.Units, "unit", false},
	{"spec.files", target.Files, "file", false},
}

// checkOwner returns the operation to use instead, or an empty string.
func checkOwner(t *target.Target, p fieldPath, removed bool) string {
	keys := strings.Join(p.keys(), ".")
	for _, o := range owners {
		below := inside(keys, o.path)
		if t.Has(o.parts) && (below && (!o.parted || !removed) || keys == o.path) {
			return o.message()
		}
		if below && t.Has(o.parts) {
			return ""
		}
	}
	for _, o := range owners {
		if t.Has(o.parts) && inside(o.path, keys) {
			return o.message()
		}
	}
	return ""
}

func (o owner) message() string {
	return fmt.Sprintf("%s is edited with the operation %s", o.path, o.operation)
}

// inside reports whether a path extends another one.
func inside(path, outer string) bool { return strings.HasPrefix(path, outer+".") }

func (f fieldCompiler) compile(arguments source.Node, path string) ([]Write, source.Findings) {
	f.append(arguments.Get("append"), path+".append")
	set := arguments.Get("set")
	if !set.Absent() && set.Kind != yaml.MappingNode {
		return nil, source.Findings{set.Finding(path+".set", "must be a mapping of paths to values").Of(source.WrongType)}
	}
	for _, field := range set.Fields() {
		inner := path + ".set." + field.Key.Value
		if p, ok := f.path(field.Key, inner); ok {
			f.set(p, field.Value, inner)
		}
	}
	for _, name := range arguments.Get("remove").Items() {
		if p, ok := f.path(name, path+".remove"); ok {
			f.add(p, Remove(), name, path+".remove")
		}
	}
	if len(f.writes)+len(f.findings) == 0 {
		f.findings = source.Findings{arguments.Finding(path, "nothing to set and nothing to remove").Of(NothingToDo)}
	}
	return f.writes, f.findings
}

// path reads the path in a key of set or an item of remove.
func (f *fieldCompiler) path(n source.Node, at string) (fieldPath, bool) {
	if n.Node == nil || n.Kind != yaml.ScalarNode || n.Absent() {
		f.findings = append(f.findings, n.Finding(at, "must be a path, such as spec.replicas").Of(source.WrongType))
		return nil, false
	}
	problem := checkName(n.Value)
	p, err := parsePath(n.Value)
	if problem == "" && err != nil {
		problem = "is not a path: " + err.Error()
	}
	if problem != "" {
		f.findings = append(f.findings, n.Finding(at, "%s", problem).Of(WrongPath))
	}
	return p, problem == ""
}

// set adds a write for each value in a mapping, or for the value.
func (f *fieldCompiler) set(p fieldPath, n source.Node, at string) {
	switch {
	case n.Absent():
		f.add(p, Remove(), n, at)
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		for _, field := range n.Fields() {
			inner, below := at+"."+field.Key.Value, p.with(field.Key.Value)
			problem := checkName(field.Key.Value)
			if problem == "" && p.isItem() && field.Key.Value == p[len(p)-1].By {
				problem = field.Key.Value + " selects the item; remove it here"
			}
			if problem != "" {
				f.findings = append(f.findings, field.Key.Finding(inner, "%s", problem).Of(MisplacedField))
				continue
			}
			f.set(below, field.Value, inner)
		}
	case p.isItem() && n.Kind != yaml.MappingNode && n.Tag != "!!str":
		f.findings = append(f.findings, n.Finding(at, "the item of a list that is found by a member must be a mapping").Of(source.WrongType))
	default:
		value, findings := f.context.Tree(n, at)
		f.findings = append(f.findings, findings...)
		f.add(p, value, n, at)
	}
}

// add creates a write, unless another write of the rule covers the place or a part of it.
func (f *fieldCompiler) add(p fieldPath, value Value, n source.Node, at string) {
	if constant, ok := value.Constant(); f.in.name == "" {
		if problem := checkOwner(f.context.Target, p, ok && constant.Absent); problem != "" {
			f.findings = append(f.findings, n.Finding(at, "%s", problem).Of(OtherOperation))
			return
		}
	}
	place := f.place
	place.Name = p.String()
	meets := func(w Write) bool { return place.Covers(w.Place) || w.Place.Covers(place) }
	if i := slices.IndexFunc(f.writes, meets); i >= 0 {
		f.findings = append(f.findings, n.Finding(at, "%s and %s, which the rule writes too, are one inside the other", place, f.writes[i].Place).Of(WrittenTwice))
		return
	}
	write := Write{Place: place, Value: value, At: n, Path: at, Apply: f.in.set(p), trace: f.in.trace(p)}
	if f.in.name == "" {
		write.Keep = p.keep
	}
	f.writes = append(f.writes, write)
}

// append adds a write for each item that a list must have.
func (f *fieldCompiler) append(n source.Node, at string) {
	if !n.Absent() && n.Kind != yaml.MappingNode {
		f.findings = append(f.findings, n.Finding(at, "must be a mapping of paths to lists").Of(source.WrongType))
		return
	}
	for _, field := range n.Fields() {
		inner := at + "." + field.Key.Value
		p, ok := f.path(field.Key, inner)
		if !ok {
			continue
		}
		if field.Value.Node == nil || field.Value.Kind != yaml.SequenceNode || len(field.Value.Content) == 0 {
			f.findings = append(f.findings, field.Value.Finding(inner, "must be a list of required items; use forEach for a computed list").Of(source.WrongType))
			continue
		}
		for _, item := range field.Value.Items() {
			f.appendItem(p, item, inner)
		}
	}
}

// appendItem adds a write for an item.
func (f *fieldCompiler) appendItem(p fieldPath, item source.Node, at string) {
	if f.in.name == "" {
		if problem := checkOwner(f.context.Target, p, false); problem != "" {
			f.findings = append(f.findings, item.Finding(at, "%s", problem).Of(OtherOperation))
			return
		}
	}
	value, findings := f.context.Tree(item, at)
	f.findings = append(f.findings, findings...)
	name := item.Value
	if constant, ok := value.Constant(); ok {
		name = constant.String()
	} else if item.Kind != yaml.ScalarNode {
		name = item.Position().String()
	}
	where := f.place
	where.Name = p.String() + "[+ " + name + "]"
	f.writes = append(f.writes, Write{
		Place: where, Value: value, At: item, Path: at, Adds: true,
		Apply: f.in.add(p), trace: f.in.trace(p),
	})
}
