// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// fields writes the fields of a schema: one list for each mapping, under a heading with its path. Small mappings are
// items of the list above them. A mapping with the same fields as an earlier one refers to its list.
type fields struct {
	out *bytes.Buffer
	// root has the definitions that references name.
	root *Schema
	// kind describes the type of a field, and reports whether the fields below it are described elsewhere.
	kind func(*Schema) (words string, elsewhere bool)
	// brief leaves out the descriptions.
	brief bool

	written map[string]string
}

// small is the maximum number of fields of a mapping without a separate list.
const small = 3

// section is a mapping with a separate list.
type section struct {
	path  string
	below *Schema
}

// write writes the lists of a schema without the fields that another schema has.
func (w *fields) write(s, without *Schema) {
	if w.written == nil {
		w.written = map[string]string{}
	}
	w.list(s, without, "")
}

func (w *fields) list(s, without *Schema, prefix string) {
	for _, next := range w.items(s, without, prefix, "") {
		w.written[signature(next.below)] = next.path
		fmt.Fprintf(w.out, "\n### `%s`\n\n", next.path)
		w.list(next.below, nil, next.path+".")
	}
}

// items writes an item for each field and returns the mappings below them that need a list.
func (w *fields) items(s, without *Schema, prefix, inner string) []section {
	var sections []section
	for _, name := range s.Order() {
		if without != nil && without.Properties[name] != nil {
			continue
		}
		field := s.Properties[name]
		if inner == "metadata." && name != "name" {
			continue // labels and annotations are the same in every document
		}
		kind, elsewhere := w.kind(field)
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		below, step := w.below(field)
		if below != nil && !elsewhere && w.written[signature(below)] != "" {
			kind, elsewhere = kind+", as "+code(w.written[signature(below)]), true
		}
		w.line(code(inner+name), kind, prose(field.Description))
		switch path := prefix + inner + name + step; {
		case below == nil || elsewhere:
		case w.isSmall(below):
			sections = append(sections, w.items(below, nil, prefix, inner+name+step+".")...)
		default:
			w.written[signature(below)] = path
			sections = append(sections, section{path: path, below: below})
		}
	}
	return sections
}

// line writes an item, without the description if the lists are brief.
func (w *fields) line(name, kind, description string) {
	if w.brief {
		description = ""
	}
	item(w.out, name, kind, description)
}

// below returns the mapping with the fields of a field, and the step of the path that leads to it.
func (w *fields) below(field *Schema) (*Schema, string) {
	found, step := w.root.resolve(field), ""
	if values := found.AdditionalProperties.Schema; values != nil {
		found, step = w.root.resolve(values), ".<name>"
	}
	if found.Items != nil {
		found, step = w.root.resolve(found.Items), step+"[]"
	}
	if len(found.Properties) == 0 {
		return nil, ""
	}
	return found, step
}

func (w *fields) isSmall(s *Schema) bool {
	if len(s.Properties) > small {
		return false
	}
	for _, field := range s.Properties {
		if below, _ := w.below(field); below != nil {
			return false
		}
	}
	return true
}

// signature returns a text that is equal for mappings with equal fields.
func signature(s *Schema) string {
	text, err := json.Marshal(s.Properties)
	if err != nil {
		panic(err) // a schema that was read from JSON can be written
	}
	return string(text)
}

// argument is an argument of an operation under its full name, such as set.<name>.mount.
type argument struct {
	Name     string
	Type     operation.Type
	Required bool
	// Computed means that the value may contain ${ CEL }.
	Computed bool
	Summary  string
}

// argumentsIn returns arguments and those within them, in their order. Their names have the prefix.
func argumentsIn(prefix string, arguments []operation.Argument) []argument {
	var all []argument
	for _, a := range arguments {
		name, of := prefix+a.Name, a.Type
		if a.Name == "" {
			name, of = entries(prefix, a.Type)
		}
		all = append(all, argument{Name: name, Type: of, Required: a.Required, Computed: isComputed(of), Summary: a.Summary})
		all = append(all, within(name+".", of)...)
	}
	return all
}

// entries returns the name and the type of the entries of a mapping or list.
func entries(prefix string, t operation.Type) (string, operation.Type) {
	if t.Form == operation.List {
		return strings.TrimSuffix(prefix, ".") + "[]", *t.Items
	}
	return prefix + "<name>", *t.Items
}

// within returns the arguments below one of the type.
func within(prefix string, t operation.Type) []argument {
	all := argumentsIn(prefix, t.Fields)
	for _, possible := range t.Types {
		all = append(all, within(prefix, possible)...)
	}
	if t.Form == operation.Mapping || t.Form == operation.List {
		name, of := entries(prefix, t)
		all = append(all, within(name+".", of)...)
	}
	return all
}

func isComputed(t operation.Type) bool {
	for _, possible := range t.Types {
		if isComputed(possible) {
			return true
		}
	}
	return t.Computed || (t.Items != nil && isComputed(*t.Items))
}

// targetsOf returns the names of the targets that have the operation, sorted.
func targetsOf(d operation.Definition) []string {
	var names []string
	for _, name := range target.Names() {
		if found, _ := target.Lookup(name); d.On(found) {
			names = append(names, name)
		}
	}
	return names
}

// operationsOf returns the names of the operations that a target has, in the order of the registry.
func operationsOf(t *target.Target) []string {
	var names []string
	for _, d := range operation.All() {
		if d.On(t) {
			names = append(names, d.Name)
		}
	}
	return names
}

// typeInWords returns the type of an argument in words.
func typeInWords(t operation.Type) string {
	said := form(t)
	if t.Null {
		said += ", or null"
	}
	return said
}

func form(t operation.Type) string {
	switch t.Form {
	case operation.Scalar:
		return "text"
	case operation.String:
		if t.Values != nil {
			return "one of " + code(t.Values...)
		}
		return "string"
	case operation.Boolean:
		return "true or false"
	case operation.Octal:
		return "octal digits"
	case operation.List:
		return "list of " + typeInWords(*t.Items)
	case operation.Mapping:
		return "mapping of names to " + typeInWords(*t.Items)
	case operation.Shape:
		return shapeWords(t)
	case operation.Either:
		var possible []string
		for _, one := range t.Types {
			possible = append(possible, typeInWords(one))
		}
		return strings.Join(possible, " or ")
	case operation.Tree:
		return "any value"
	default:
		return "fields"
	}
}

// shapeWords returns the name of a Kubernetes type and its permitted fields.
func shapeWords(t operation.Type) string {
	said := "fields of " + code(t.Of.Name())
	switch {
	case t.Values != nil:
		said += ": " + code(t.Values...)
	case t.Without != nil:
		said += " but " + code(t.Without...)
	}
	return said
}

// Schema is the part of a JSON Schema that the pages show.
type Schema struct {
	Title, Description, Const string
	Type                      types
	Enum                      []string
	AnyOf                     []*Schema
	Default                   any
	Minimum, Maximum          *json.Number
	Required                  []string
	Properties, Definitions   map[string]*Schema
	AdditionalProperties      values
	Items                     *Schema
	Ref                       string `json:"$ref"`
}

// types is the type of a schema, or several.
type types []string

// UnmarshalJSON reads a name or a list of names.
func (t *types) UnmarshalJSON(data []byte) error {
	*t = types{""}
	if json.Unmarshal(data, &(*t)[0]) == nil {
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// values is the schema of the entries of a mapping with free names; nil if none are allowed.
type values struct{ *Schema }

// UnmarshalJSON reads a schema, or false.
func (v *values) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		return nil
	}
	return json.Unmarshal(data, &v.Schema)
}

// readSchema builds a schema from the current source, which may be newer than this program.
func readSchema(name string) (*Schema, error) {
	data, err := encode(schemas[name]())
	if err != nil {
		return nil, err
	}
	var read Schema
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &read, nil
}

// resolve returns the definition that a reference names, or else the schema itself.
func (s *Schema) resolve(of *Schema) *Schema {
	if name, ok := strings.CutPrefix(of.Ref, definitions); ok && s.Definitions[name] != nil {
		return s.Definitions[name]
	}
	return of
}

// Order returns the names of the fields: the head of a document first, then the rest sorted.
func (s *Schema) Order() []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range []string{"providers", "metadata", "kind", "apiVersion"} {
		if i := slices.Index(names, name); i >= 0 {
			names = slices.Concat([]string{name}, names[:i], names[i+1:])
		}
	}
	return names
}

// Kind returns the type in words.
func (s *Schema) Kind() string {
	var words string
	switch {
	case s.Const != "":
		return code(s.Const)
	case s.Enum != nil:
		words = "one of " + code(s.Enum...)
	case len(s.AnyOf) > 0 && s.AnyOf[0].Enum != nil:
		words = "one of " + code(s.AnyOf[0].Enum...)
	case s.Ref == definitions+"set":
		words = "rules by target"
	case s.Items != nil:
		words = "list of " + plural(s.Items.Kind())
	case s.AdditionalProperties.Schema != nil:
		words = "mapping of names to " + plural(s.AdditionalProperties.Kind())
	case s.Type == nil:
		words = "any value"
	default:
		var all []string
		for _, t := range s.Type {
			all = append(all, cmp.Or(typeWords[t], t))
		}
		words = strings.Join(all, " or ")
	}
	if s.Minimum != nil && s.Maximum != nil {
		words += fmt.Sprintf(", %s to %s", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		words += fmt.Sprintf(", default %s", code(fmt.Sprint(s.Default)))
	}
	return words
}

var typeWords = map[string]string{"object": "mapping", "array": "list", "boolean": "true or false", "integer": "whole number"}

// plural returns the plural of a type in words.
func plural(words string) string {
	if head, tail, ok := strings.Cut(words, " "); ok && tail != "" {
		return head + " " + tail
	}
	return words + "s"
}

// writeFields writes the fields of a schema without references.
func writeFields(out *bytes.Buffer, s *Schema) {
	w := &fields{out: out, root: s, kind: func(field *Schema) (string, bool) { return field.Kind(), field.Ref != "" }}
	w.write(s, nil)
}
