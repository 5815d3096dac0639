// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// fieldCompiler says how edits of fields, by path, become writes. A mapping becomes a write for each of its members, so
// that rules which set different members of it do not meet.
type fieldCompiler struct {
	context *Context
	place   Place
	// check judges a path that is set or removed; nil: every path will do.
	check func(p fieldPath, removed bool) string
	apply func(p fieldPath) func(*target.Object, Resolved) error
	// keep is nil where places cannot be kept.
	keep func(p fieldPath) func(*target.Object) error
	// leaves is nil where the place tells what is left.
	leaves func(p fieldPath) func(original, now *document.Node, v *Resolved) []Trace

	writes   []Write
	findings source.Findings
}

func (f fieldCompiler) compile(arguments source.Node, path string, a edits) ([]Write, source.Findings) {
	if a.Set.Node != nil && !a.Set.Absent() && a.Set.Kind != yaml.MappingNode {
		return nil, source.Findings{a.Set.Finding(path+".set", "must be a mapping of paths to values").Of(source.WrongType)}
	}
	for _, field := range a.Set.Fields() {
		inner := path + ".set." + field.Key.Value
		if p, ok := f.path(field.Key, inner); ok {
			f.set(p, field.Value, inner)
		}
	}
	for _, name := range a.Remove {
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
		problem = "is no path: " + err.Error()
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
				problem = field.Key.Value + " is what the item is found by; leave it out here"
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

// add makes a write, unless another one of the rule is for a part of the place or for the whole.
func (f *fieldCompiler) add(p fieldPath, value Value, n source.Node, at string) {
	if constant, ok := value.Constant(); f.check != nil {
		if problem := f.check(p, ok && constant.Absent); problem != "" {
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
	write := Write{Place: place, Value: value, At: n, Path: at, Apply: f.apply(p)}
	if f.keep != nil {
		write.Keep = f.keep(p)
	}
	if f.leaves != nil {
		write.leaves = f.leaves(p)
	}
	f.writes = append(f.writes, write)
}
