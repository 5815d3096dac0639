// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Found is a field of a document.
type Found struct {
	// Path is the way to it as documents write it, with <name> for names that are free.
	Path string
	// Schema is that of the field itself, and Below that of what has the fields below it: the items of a list, the values of a mapping.
	Schema, Below *Schema
	// Description is what is said of the field where it stands; Required says that it cannot be left out.
	Description string
	Required    bool
	// Defined is the name of the definition that says what stands there, such as operation.flags; empty for most fields.
	Defined string
}

// At finds a field of the document by its path: names with dots between them. Items of lists and values of mappings need no step of their
// own; a name that a mapping leaves free may stand there. The error says which step is unknown, with the nearest one that is known.
func (s *Schema) At(path string) (*Found, error) {
	found := &Found{Schema: s, Below: s, Description: s.Description}
	for _, step := range steps(path) {
		next, err := s.step(found, step)
		if err != nil {
			return nil, err
		}
		found = next
	}
	return found, nil
}

// steps splits a path at its dots, but for those in brackets and quotes, and leaves out [].
func steps(path string) []string {
	var (
		all    []string
		step   strings.Builder
		quoted bool
	)
	for _, c := range strings.ReplaceAll(path, "[]", "") + "." {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted:
			if step.Len() > 0 {
				all = append(all, step.String())
			}
			step.Reset()
		default:
			step.WriteRune(c)
		}
	}
	return all
}

// step goes to a field below one.
func (s *Schema) step(from *Found, name string) (*Found, error) {
	below := from.Below
	if field, ok := below.Properties[name]; ok {
		return s.found(from.join(name), field, slices.Contains(below.Required, name)), nil
	}
	if values := below.Values(); values != nil {
		found := s.found(from.join("<name>"), values, false)
		if found.Below.Properties[name] == nil {
			return found, nil
		}
		return s.step(found, name)
	}
	where := "the document"
	if from.Path != "" {
		where = from.Path
	}
	if len(below.Properties) == 0 {
		return nil, fmt.Errorf("%s has no fields below it that are known", where)
	}
	return nil, fmt.Errorf("%s has no field %q%s", where, name, source.Suggest(name, below.Order()))
}

func (f *Found) join(name string) string {
	if f.Path == "" {
		return name
	}
	return f.Path + "." + name
}

// found goes through references and lists to what has the fields.
func (s *Schema) found(path string, field *Schema, required bool) *Found {
	f := &Found{Path: path, Schema: field, Description: field.Description, Required: required}
	for below := field; ; below = below.Items {
		if below.Ref != "" {
			f.Defined = strings.TrimPrefix(below.Ref, definitions)
			below = s.resolve(below)
		}
		if f.Below = below; below.Items == nil {
			break
		}
		if below == field || f.Path == path {
			f.Path = path + "[]"
		}
	}
	if f.Description == "" {
		f.Description = f.Below.Description
	}
	if field.Ref != "" && f.Defined != "set" {
		// What is said where the reference stands is more than the definition knows, but the definition knows the type.
		f.Schema = s.resolve(field)
	}
	return f
}

// Fields are the fields directly below one, in their order; for a mapping with free names, those of its values.
func (s *Schema) Fields(of *Found) []*Found {
	below, prefix := of.Below, of
	if values := below.Values(); values != nil && len(below.Properties) == 0 {
		prefix = s.found(of.join("<name>"), values, false)
		below = prefix.Below
	}
	fields := make([]*Found, 0, len(below.Properties))
	for _, name := range below.Order() {
		fields = append(fields, s.found(prefix.join(name), below.Properties[name], slices.Contains(below.Required, name)))
	}
	return fields
}
