// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schema is what is shown of a JSON Schema.
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

// ParseSchema reads the schema of a document.
func ParseSchema(data []byte) (*Schema, error) {
	var read Schema
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	return &read, nil
}

const definitions = "#/definitions/"

// Rule is the schema of the rules of a target.
func (s *Schema) Rule(target string) (*Schema, error) {
	set := s.Definitions["set"]
	if set == nil || set.Properties[target] == nil {
		return nil, fmt.Errorf("the schema has no rules for %s", target)
	}
	return s.resolve(set.Properties[target].Items), nil
}

// resolve is the definition that a reference means, and any other schema itself.
func (s *Schema) resolve(of *Schema) *Schema {
	if of != nil && of.Ref != "" {
		return s.Definitions[strings.TrimPrefix(of.Ref, definitions)]
	}
	return of
}

// Order are the names of the fields, sorted but for the head of a document, which comes first.
func (s *Schema) Order() []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range []string{"providers", "metadata", "kind", "apiVersion"} {
		if i := slices.Index(names, name); i >= 0 {
			names = slices.Concat([]string{name}, names[:i], names[i+1:])
		}
	}
	return names
}

// Values is the schema of the entries of a mapping whose names are free; nil for anything else.
func (s *Schema) Values() *Schema {
	raw, err := json.Marshal(s.AdditionalProperties)
	var values Schema
	if _, ok := s.AdditionalProperties.(map[string]any); !ok || err != nil || json.Unmarshal(raw, &values) != nil {
		return nil
	}
	return &values
}

// Kind is what may stand there, in words.
func (s *Schema) Kind(quote Quote) string {
	var words string
	switch {
	case s.Const != "":
		return quote(s.Const)
	case s.Enum != nil:
		words = "one of " + quote(texts(s.Enum)...)
	case len(s.AnyOf) > 0 && s.AnyOf[0].Enum != nil:
		words = "one of " + quote(texts(s.AnyOf[0].Enum)...)
	case s.Ref == definitions+"set":
		words = "rules by target"
	case s.Items != nil:
		words = "list of " + plural(s.Items.Kind(quote))
	case s.Values() != nil:
		words = "mapping of names to " + plural(s.Values().Kind(quote))
	case s.Type == nil:
		words = "any value"
	default:
		words = typeWords(s.Type)
	}
	if s.Minimum != nil && s.Maximum != nil {
		words += fmt.Sprintf(", %s to %s", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		words += fmt.Sprintf(", default %s", quote(fmt.Sprint(s.Default)))
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
