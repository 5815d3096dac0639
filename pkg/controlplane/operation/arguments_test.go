// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// place is a value in an example and the argument that it is.
type place struct {
	example
	path     string
	argument operation.Argument
	// parent is the mapping that contains it; nil directly below the operation.
	parent, value *yaml.Node
}

// TestArguments compares the descriptions of arguments with the accepted ones: every argument has an example, other
// names are unknown, required ones are reported, and values match their descriptions.
func TestArguments(t *testing.T) {
	bench := newBench(t)
	candidates := argumentNames()
	for _, definition := range operation.All() {
		t.Run(definition.Name, func(t *testing.T) {
			whole := operation.Argument{Name: definition.Name, Type: definition.Type(), Summary: definition.Summary}
			var places []place
			for _, text := range append([]string{definition.Example}, definition.Examples...) {
				e := bench.example(t, definition, text)
				places = append(places, walk(t, place{example: e, path: definition.Name, argument: whole, value: e.arguments.Node})...)
			}
			for path, argument := range documented(definition.Name, whole) {
				if argument.Summary == "" {
					t.Errorf("%s has no summary", path)
				}
				if !slices.ContainsFunc(places, func(p place) bool { return p.path == path }) {
					t.Errorf("no example uses the argument %s", path)
				}
			}
			for _, p := range places {
				bench.holdNames(t, definition, p, candidates)
				bench.holdValue(t, definition, p)
			}
		})
	}
}

// documented returns the arguments by their paths, in the form of walk.
func documented(path string, a operation.Argument) map[string]operation.Argument {
	all := map[string]operation.Argument{path: a}
	var within func(path string, t operation.Type)
	within = func(path string, t operation.Type) {
		for _, field := range t.Fields {
			all[path+"."+field.Name] = field
			within(path+"."+field.Name, field.Type)
		}
		if t.Items != nil {
			within(path+".*", *t.Items)
		}
		for _, possible := range t.Types {
			within(path, possible)
		}
	}
	within(path, a.Type)
	return all
}

// walk finds the values in an example with their arguments.
func walk(t *testing.T, p place) []place {
	t.Helper()
	found := []place{p}
	entries := func(value *yaml.Node, kind operation.Type) {
		for i := 1; i < len(value.Content); i += 2 {
			key, inner := value.Content[i-1].Value, place{example: p.example, parent: value, value: value.Content[i]}
			index := slices.IndexFunc(kind.Fields, func(a operation.Argument) bool { return a.Name == key })
			switch {
			case index >= 0:
				inner.path, inner.argument = p.path+"."+key, kind.Fields[index]
			case kind.Items != nil:
				inner.path, inner.argument = p.path+".*", operation.Argument{Type: *kind.Items}
			case kind.Form == operation.Fields:
				t.Errorf("%s: %s has no argument %q", p.text, p.path, key)
				continue
			default:
				continue
			}
			found = append(found, walk(t, inner)...)
		}
	}
	kind := chosen(p.argument.Type, p.value)
	switch p.value.Kind {
	case yaml.MappingNode:
		entries(p.value, kind)
	case yaml.SequenceNode:
		for _, item := range p.value.Content {
			if kind.Items != nil {
				found = append(found, walk(t, place{
					example: p.example, path: p.path + ".*", argument: operation.Argument{Type: *kind.Items}, value: item,
				})...)
			}
		}
	}
	return found
}

// chosen is the type among several that the value is of.
func chosen(t operation.Type, value *yaml.Node) operation.Type {
	kinds := map[operation.Form]yaml.Kind{operation.List: yaml.SequenceNode, operation.Mapping: yaml.MappingNode,
		operation.Fields: yaml.MappingNode, operation.Shape: yaml.MappingNode}
	for _, possible := range t.Types {
		if kind, ok := kinds[possible.Form]; ok == (value.Kind != yaml.ScalarNode) && (!ok || kind == value.Kind) {
			return possible
		}
	}
	return t
}

// argumentNames returns the names of all arguments at any depth, and one that no operation has.
func argumentNames() []string {
	found := []string{"noSuchArgument"}
	for _, definition := range operation.All() {
		for path := range documented(definition.Name, operation.Argument{Type: definition.Type()}) {
			if name := path[strings.LastIndexByte(path, '.')+1:]; name != "*" && name != definition.Name {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// holdNames checks that the names which a mapping may have are those that are known, and which of them are required.
func (b *bench) holdNames(t *testing.T, d operation.Definition, p place, candidates []string) {
	t.Helper()
	kind := chosen(p.argument.Type, p.value)
	if p.value.Kind == yaml.MappingNode && kind.Names != nil {
		b.holdWithout(t, d, p, slices.Concat(kind.Without, []string{"this is no name"}))
	}
	if p.value.Kind != yaml.MappingNode || (kind.Form != operation.Fields && (kind.Form != operation.Shape || kind.Values == nil)) {
		return
	}
	known := slices.Clone(kind.Values)
	for _, field := range kind.Fields {
		known = append(known, field.Name)
		if without := remove(p.value, field.Name); field.Required && without != nil && len(b.with(d, p.example, p.value, without)) == 0 {
			t.Errorf("%s.%s is not required in %s", p.path, field.Name, p.text)
		}
	}
	for _, name := range slices.Concat(known, candidates) {
		changed := *p.value
		if remove(p.value, name) != nil {
			continue
		}
		changed.Content = append(slices.Clone(changed.Content), scalar("!!str", name), scalar("!!null", "null"))
		findings := b.with(d, p.example, p.value, &changed)
		if want := slices.Contains(known, name); want == isUnknown(findings, name) {
			t.Errorf("%s.%s: documented %t, but compiling gives %v", p.path, name, want, findings)
		}
	}
	b.holdWithout(t, d, p, kind.Without)
}

// holdWithout checks that no member has one of the names.
func (b *bench) holdWithout(t *testing.T, d operation.Definition, p place, names []string) {
	t.Helper()
	for _, name := range names {
		changed := *p.value
		changed.Content = append(slices.Clone(changed.Content), scalar("!!str", name), scalar("!!str", "x"))
		if len(b.with(d, p.example, p.value, &changed)) == 0 {
			t.Errorf("%s.%s is accepted", p.path, name)
		}
	}
}

func isUnknown(findings source.Findings, name string) bool {
	return slices.ContainsFunc(findings, func(f source.Finding) bool {
		return strings.Contains(f.Message, strconv.Quote(name)) && (strings.Contains(f.Message, "unknown") || strings.Contains(f.Message, "is not a Service field") || strings.Contains(f.Message, "is not a field"))
	})
}

// remove is the mapping without a key; nil if it does not have it.
func remove(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			without := *mapping
			without.Content = slices.Concat(mapping.Content[:i], mapping.Content[i+2:])
			return &without
		}
	}
	return nil
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// holdValue checks that a value is judged as its type says.
func (b *bench) holdValue(t *testing.T, d operation.Definition, p place) {
	t.Helper()
	refused := func(why string, value *yaml.Node) {
		if len(b.with(d, p.example, p.value, value)) == 0 {
			t.Errorf("%s: %s is accepted in %s", p.path, why, p.text)
		}
	}
	accepted := func(why string, value *yaml.Node) {
		if findings := b.with(d, p.example, p.value, value); len(findings) > 0 {
			t.Errorf("%s: %s is refused in %s: %v", p.path, why, p.text, findings)
		}
	}
	kind := chosen(p.argument.Type, p.value)
	if entry := strings.HasSuffix(p.path, ".*"); kind.Form == operation.Scalar && !p.argument.Type.Null && (entry || p.argument.Required) {
		refused("null", scalar("!!null", "null"))
	}
	if len(p.argument.Type.Types) > 0 {
		refused("a mapping in a list", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}})
		return
	}
	switch kind.Form {
	case operation.Scalar:
		refused("a mapping", &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar("!!str", "x"), scalar("!!int", "1")}})
		if kind.Computed {
			accepted("an expression", scalar("!!str", `${ shoot.name }`))
		}
	case operation.Boolean:
		refused("a text", scalar("!!str", "maybe"))
		accepted("true", scalar("!!bool", "true"))
		if expression := scalar("!!str", "${ 1 < 2 }"); kind.Computed {
			accepted("an expression", expression)
		} else {
			refused("an expression", expression)
		}
	case operation.String:
		refused("a list", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"})
		for _, value := range kind.Values {
			accepted(strconv.Quote(value), scalar("!!str", value))
		}
		if kind.Values != nil {
			refused("another text", scalar("!!str", "nonsense"))
		}
	case operation.List, operation.Fields, operation.Mapping, operation.Shape, operation.Octal:
		refused("a text", scalar("!!str", "nonsense"))
	case operation.Tree:
		accepted("a list", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{scalar("!!str", "${ 1 + 1 }")}})
	}
}
