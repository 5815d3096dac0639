// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// object is a JSON Schema or a part of one. The dialect is draft 7, which YAML language servers support best.
type object = map[string]any

// declared is a type with its own schema in addition to that of its fields, because it decodes itself or limits
// its values.
type declared interface{ JSONSchema() string }

// builder collects the definitions of a schema.
type builder struct {
	comments    *comments
	definitions object
	// special has the types that need more than reflection.
	special map[reflect.Type]func() (object, error)
}

func newBuilder() *builder {
	return &builder{comments: newComments(), definitions: object{}, special: map[reflect.Type]func() (object, error){}}
}

const definitions = "#/definitions/"

func reference(name string) object { return object{"$ref": definitions + name} }

// used returns the definitions that the schema needs, directly or indirectly.
func (b *builder) used(schema object) object {
	used := object{}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case object:
			for _, member := range value {
				visit(member)
			}
		case []object:
			for _, item := range value {
				visit(item)
			}
		case []any:
			for _, item := range value {
				visit(item)
			}
		case string:
			if name, ok := strings.CutPrefix(value, definitions); ok && used[name] == nil {
				used[name] = b.definitions[name]
				visit(used[name])
			}
		}
	}
	visit(schema)
	return used
}

// document returns the schema of a Go type that pkg/source decodes. fallback, if valid, is its default value.
func (b *builder) document(t reflect.Type, fallback reflect.Value) (object, error) {
	if build := b.special[t]; build != nil {
		return build()
	}
	if t == reflect.TypeFor[source.Node]() {
		return object{"not": object{"type": "null"}}, nil
	}
	schema := object{}
	var err error
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[source.Decoder]()) {
		if schema, err = b.plain(t, fallback); err != nil {
			return nil, err
		}
	}
	if own, ok := reflect.New(t).Interface().(declared); ok {
		if err := json.Unmarshal([]byte(own.JSONSchema()), &schema); err != nil {
			return nil, fmt.Errorf("decoding the schema that %s declares: %w", t, err)
		}
	} else if len(schema) == 0 {
		return nil, fmt.Errorf("%s decodes itself and declares no schema", t)
	}
	return schema, nil
}

func (b *builder) plain(t reflect.Type, fallback reflect.Value) (object, error) {
	switch t.Kind() {
	case reflect.Pointer:
		if fallback.IsValid() {
			fallback = fallback.Elem() // invalid for nil
		}
		return b.document(t.Elem(), fallback)
	case reflect.Struct:
		return b.fields(t, fallback)
	case reflect.Map:
		items, err := b.document(t.Elem(), reflect.Value{})
		return object{"type": "object", "additionalProperties": items}, err
	case reflect.Slice:
		items, err := b.document(t.Elem(), reflect.Value{})
		return object{"type": "array", "items": items}, err
	}
	schema := object{}
	switch t.Kind() {
	case reflect.String:
		schema["type"] = "string"
	case reflect.Bool:
		schema["type"] = "boolean"
	case reflect.Int32, reflect.Int64, reflect.Int:
		schema["type"] = "integer"
	default:
		return nil, fmt.Errorf("%s is not supported in documents", t)
	}
	if fallback.IsValid() && !fallback.IsZero() {
		schema["default"] = fallback.Interface()
	}
	return schema, nil
}

// fields returns the schema of a struct. Fields without omitempty are required.
func (b *builder) fields(t reflect.Type, fallback reflect.Value) (object, error) {
	properties, required := object{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		var value reflect.Value
		if fallback.IsValid() {
			value = fallback.FieldByIndex(field.Index)
		}
		schema, err := b.document(field.Type, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := bound(schema, field.Tag); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		comment, err := b.comments.ofField(owner(t, field.Index), field.Name)
		if err != nil {
			return nil, err
		}
		properties[name] = described(schema, withoutSubject(comment, field.Name))
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

// owner returns the struct that declares a field, which may be embedded.
func owner(t reflect.Type, index []int) reflect.Type {
	for ; len(index) > 1; index = index[1:] {
		t = t.Field(index[0]).Type
	}
	return t
}

// bound adds the limits in a field's tags, in the format of pkg/source.
func bound(schema object, tag reflect.StructTag) error {
	limits, err := source.LimitsOf(tag)
	if err != nil {
		return err
	}
	if limits.OneOf != nil {
		schema["enum"] = limits.OneOf
	}
	if limits.Bounded {
		schema["minimum"], schema["maximum"] = limits.Least, limits.Most
	}
	return nil
}

// described adds the first paragraph of a comment as description, unless the schema has one.
func described(schema object, comment string) object {
	text := describe(comment)
	if _, ok := schema["description"]; ok || text == "" {
		return schema
	}
	schema = maps.Clone(schema)
	schema["description"] = text
	return schema
}

// withoutSubject removes the field's name from its comment: "QPS is the limit" becomes "the limit".
func withoutSubject(comment, field string) string {
	rest, ok := strings.CutPrefix(comment, field+" ")
	if !ok || strings.HasPrefix(rest, "and ") {
		return comment
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return rest
}

// sortedKeys returns the members' names, sorted.
func sortedKeys(o object) []string { return slices.Sorted(maps.Keys(o)) }
