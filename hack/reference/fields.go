// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// fields writes the fields of a schema: one table for each mapping, under a heading with its path. Small mappings are rows
// of the table above them. A mapping with the same fields as an earlier one refers to its table.
type fields struct {
	out *bytes.Buffer
	// root has the definitions that references name.
	root *Schema
	// kind describes the type of a field.
	kind func(*Schema) string
	// brief leaves out the descriptions.
	brief bool
	// hide reports whether fields below the field are left out; it may be nil.
	hide func(name string, field *Schema) bool

	written map[string]string
}

// small is the number of fields up to which a mapping has no table of its own.
const small = 3

// section is a mapping that gets a table of its own.
type section struct {
	path  string
	below *Schema
}

// write writes the tables of a schema without the fields that another schema has.
func (w *fields) write(s, without *Schema) {
	if w.written == nil {
		w.written = map[string]string{}
	}
	w.table(s, without, "")
}

func (w *fields) table(s, without *Schema, prefix string) {
	heads := []string{"field", "type", "meaning"}
	if w.brief {
		heads = heads[:2]
	}
	table(w.out, heads...)
	for _, next := range w.rows(s, without, prefix, "") {
		w.written[signature(next.below)] = next.path
		fmt.Fprintf(w.out, "\n### `%s`\n\n", next.path)
		w.table(next.below, nil, next.path+".")
	}
}

// rows writes a row for each field and returns the mappings below them that need a table.
func (w *fields) rows(s, without *Schema, prefix, inner string) []section {
	var sections []section
	for _, name := range s.Order() {
		if without != nil && without.Properties[name] != nil {
			continue
		}
		field := s.Properties[name]
		if inner == "metadata." && name != "name" {
			continue // labels and annotations are the same in every document
		}
		kind := w.kind(field)
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		below, step := w.below(field)
		if below == nil || w.hide != nil && w.hide(name, field) {
			w.line(code(inner+name), kind, prose(field.Description))
			continue
		}
		path := prefix + inner + name + step
		if known := w.written[signature(below)]; known != "" {
			w.line(code(inner+name), kind+", as "+code(known), prose(field.Description))
			continue
		}
		w.line(code(inner+name), kind, prose(field.Description))
		if w.isSmall(below) {
			sections = append(sections, w.rows(below, nil, prefix, inner+name+step+".")...)
			continue
		}
		w.written[signature(below)] = path
		sections = append(sections, section{path: path, below: below})
	}
	return sections
}

// line writes a row, without the description if the tables are brief.
func (w *fields) line(name, kind, description string) {
	cells := []string{name, kind}
	if !w.brief {
		cells = append(cells, description)
	}
	row(w.out, cells...)
}

// below returns the mapping whose fields belong to a field, and the step of the path that leads to it.
func (w *fields) below(field *Schema) (*Schema, string) {
	found, step := w.root.resolve(field), ""
	if values := found.Values(); values != nil {
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
