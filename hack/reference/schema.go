// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Schema is the part of a JSON Schema that the pages show.
type Schema struct {
	Title                string             `json:"title"`
	Description          string             `json:"description"`
	Type                 any                `json:"type"`
	Const                string             `json:"const"`
	Enum                 []any              `json:"enum"`
	AnyOf                []*Schema          `json:"anyOf"`
	Default              any                `json:"default"`
	Minimum              *json.Number       `json:"minimum"`
	Maximum              *json.Number       `json:"maximum"`
	Required             []string           `json:"required"`
	Properties           map[string]*Schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	Items                *Schema            `json:"items"`
	Ref                  string             `json:"$ref"`
	Definitions          map[string]*Schema `json:"definitions"`
}

// readSchema reads a schema as hack/schema just wrote it, which may be newer than what is compiled in.
func readSchema(name string) (*Schema, error) {
	data, err := os.ReadFile(filepath.Join("docs", "schema", name))
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

const definitions = "#/definitions/"

// resolve returns the definition that a reference names, or else the schema itself.
func (s *Schema) resolve(of *Schema) *Schema {
	if name, ok := strings.CutPrefix(of.Ref, definitions); ok && s.Definitions[name] != nil {
		return s.Definitions[name]
	}
	return of
}

// Order returns the names of the fields: the head of a document first, then the others sorted.
func (s *Schema) Order() []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range []string{"providers", "metadata", "kind", "apiVersion"} {
		if i := slices.Index(names, name); i >= 0 {
			names = slices.Concat([]string{name}, names[:i], names[i+1:])
		}
	}
	return names
}

// Values returns the schema of the entries of a mapping whose names are free; nil for anything else.
func (s *Schema) Values() *Schema {
	raw, err := json.Marshal(s.AdditionalProperties)
	var values Schema
	if _, ok := s.AdditionalProperties.(map[string]any); !ok || err != nil || json.Unmarshal(raw, &values) != nil {
		return nil
	}
	return &values
}

// Kind returns the type in words.
func (s *Schema) Kind() string {
	var words string
	switch {
	case s.Const != "":
		return code(s.Const)
	case s.Enum != nil:
		words = "one of " + code(texts(s.Enum)...)
	case len(s.AnyOf) > 0 && s.AnyOf[0].Enum != nil:
		words = "one of " + code(texts(s.AnyOf[0].Enum)...)
	case s.Ref == definitions+"set":
		words = "rules by target"
	case s.Items != nil:
		words = "list of " + plural(s.Items.Kind())
	case s.Values() != nil:
		words = "mapping of names to " + plural(s.Values().Kind())
	case s.Type == nil:
		words = "any value"
	default:
		words = typeWords(s.Type)
	}
	if s.Minimum != nil && s.Maximum != nil {
		words += fmt.Sprintf(", %s to %s", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		words += fmt.Sprintf(", default %s", code(fmt.Sprint(s.Default)))
	}
	return words
}

func typeWords(t any) string {
	if several, ok := t.([]any); ok {
		var words []string
		for _, one := range several {
			words = append(words, typeWords(one))
		}
		return strings.Join(words, " or ")
	}
	words := map[any]string{"object": "mapping", "array": "list", "boolean": "true or false", "integer": "whole number"}
	if known, ok := words[t]; ok {
		return known
	}
	return fmt.Sprint(t)
}

// plural returns the plural of a type in words.
func plural(words string) string {
	if head, tail, ok := strings.Cut(words, " "); ok && tail != "" {
		return head + " " + tail
	}
	return words + "s"
}

func texts(values []any) []string {
	var all []string
	for _, value := range values {
		all = append(all, fmt.Sprint(value))
	}
	return all
}

// writeFields writes the fields of a schema without references.
func writeFields(out *bytes.Buffer, s *Schema) {
	w := &fields{out: out, root: s, kind: (*Schema).Kind, hide: isReference}
	w.write(s, nil)
}

// isReference reports whether a field is described elsewhere on the page.
func isReference(_ string, field *Schema) bool { return field.Ref != "" }
