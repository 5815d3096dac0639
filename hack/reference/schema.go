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

// schema is what the reference shows of a JSON Schema.
type schema struct {
	Description          string             `json:"description"`
	Type                 any                `json:"type"`
	Const                string             `json:"const"`
	Enum                 []any              `json:"enum"`
	AnyOf                []*schema          `json:"anyOf"`
	Default              any                `json:"default"`
	Minimum              *json.Number       `json:"minimum"`
	Maximum              *json.Number       `json:"maximum"`
	Required             []string           `json:"required"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	Ref                  string             `json:"$ref"`
	Definitions          map[string]*schema `json:"definitions"`
}

func readSchema(name string) (*schema, error) {
	data, err := os.ReadFile(filepath.Join("docs", "schema", name))
	if err != nil {
		return nil, err
	}
	var read schema
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return &read, nil
}

// rule is the schema of the rules of a target.
func (s *schema) rule(target string) (*schema, error) {
	set := s.Definitions["set"]
	if set == nil || set.Properties[target] == nil {
		return nil, fmt.Errorf("the schema has no rules for %s", target)
	}
	rules := set.Properties[target]
	return s.Definitions[strings.TrimPrefix(rules.Items.Ref, "#/definitions/")], nil
}

// writeFields writes a table of all fields with those below them.
func writeFields(out *bytes.Buffer, s *schema) {
	table(out, "field", "type", "meaning")
	s.writeRows(out, "")
}

func (s *schema) writeRows(out *bytes.Buffer, prefix string) {
	for _, name := range s.order() {
		field := s.Properties[name]
		kind := field.kind()
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		row(out, code(prefix+name), kind, prose(field.Description))
		field.writeRows(out, prefix+name+".")
		if items := field.values(); items != nil {
			items.writeRows(out, prefix+name+".<name>.")
		}
		if field.Items != nil {
			field.Items.writeRows(out, prefix+name+"[].")
		}
	}
}

// order is that of the names, but for the head of a document, which comes first.
func (s *schema) order() []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range []string{"providers", "metadata", "kind", "apiVersion"} {
		if i := slices.Index(names, name); i >= 0 {
			names = slices.Concat([]string{name}, names[:i], names[i+1:])
		}
	}
	return names
}

// values is the schema of the entries of a mapping whose names are free; nil for anything else.
func (s *schema) values() *schema {
	raw, err := json.Marshal(s.AdditionalProperties)
	var values schema
	if _, ok := s.AdditionalProperties.(map[string]any); !ok || err != nil || json.Unmarshal(raw, &values) != nil {
		return nil
	}
	return &values
}

// kind is what may stand there, in words.
func (s *schema) kind() string {
	var words string
	switch {
	case s.Const != "":
		return code(s.Const)
	case s.Enum != nil:
		words = "one of " + code(texts(s.Enum)...)
	case len(s.AnyOf) > 0 && s.AnyOf[0].Enum != nil:
		words = "one of " + code(texts(s.AnyOf[0].Enum)...)
	case s.Ref == "#/definitions/set":
		words = "rules by target"
	case s.Items != nil:
		words = "list of " + plural(s.Items.kind())
	case s.values() != nil:
		words = "mapping of names to " + plural(s.values().kind())
	case s.Type == nil:
		words = "any value"
	default:
		words = typeWords(s.Type)
	}
	if s.Minimum != nil && s.Maximum != nil {
		words += fmt.Sprintf(", %s to %s", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		words += fmt.Sprintf(", default `%v`", s.Default)
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
