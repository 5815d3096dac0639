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

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// jsonSchema is a JSON Schema or a part of one. The dialect is draft 7, which YAML language servers support best.
type jsonSchema = map[string]any

// declared is a type with an additional schema, because it decodes itself or limits its values.
type declared interface{ JSONSchema() string }

// firstError keeps the first error, which the top level of a schema returns.
type firstError struct{ err error }

func (p *firstError) fail(format string, arguments ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, arguments...)
	}
}

// builder collects the definitions of a schema.
type builder struct {
	firstError
	definitions jsonSchema
	// special has the schemas of types that need more than reflection.
	special  map[reflect.Type]jsonSchema
	packages map[string]*packageComments
}

func newBuilder() *builder {
	return &builder{definitions: jsonSchema{}, special: map[reflect.Type]jsonSchema{}, packages: map[string]*packageComments{}}
}

const definitions = "#/definitions/"

func reference(name string) jsonSchema { return jsonSchema{"$ref": definitions + name} }

// share defines a schema and returns its reference. Equal schemas with the same prefix share a definition.
func (b *builder) share(prefix, name string, schema jsonSchema) jsonSchema {
	for _, known := range slices.Sorted(maps.Keys(b.definitions)) {
		if strings.HasPrefix(known, prefix) && reflect.DeepEqual(b.definitions[known], schema) {
			return reference(known)
		}
	}
	b.definitions[prefix+name] = schema
	return reference(prefix + name)
}

// used returns the definitions that the schema needs, directly or indirectly.
func (b *builder) used(schema jsonSchema) jsonSchema {
	used := jsonSchema{}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case jsonSchema:
			for _, member := range value {
				visit(member)
			}
		case []jsonSchema:
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

// jsonTypes has the JSON types of values by kind.
var jsonTypes = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "boolean", reflect.Float32: "number", reflect.Float64: "number",
	reflect.Int: "integer", reflect.Int32: "integer", reflect.Int64: "integer", reflect.Uint8: "integer", reflect.Uint32: "integer",
}

// document returns the schema of a Go type that pkg/source decodes. fallback, if valid, is its default value.
func (b *builder) document(t reflect.Type, fallback reflect.Value) jsonSchema {
	if known := b.special[t]; known != nil {
		return maps.Clone(known)
	}
	if t == reflect.TypeFor[source.Node]() {
		return jsonSchema{"not": jsonSchema{"type": "null"}}
	}
	schema := jsonSchema{}
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[source.Decoder]()) {
		schema = b.plain(t, fallback)
	}
	if own, ok := reflect.New(t).Interface().(declared); ok {
		if err := json.Unmarshal([]byte(own.JSONSchema()), &schema); err != nil {
			b.fail("decoding the schema that %s declares: %w", t, err)
		}
	} else if len(schema) == 0 {
		b.fail("%s decodes itself and declares no schema", t)
	}
	return schema
}

func (b *builder) plain(t reflect.Type, fallback reflect.Value) jsonSchema {
	switch t.Kind() {
	case reflect.Pointer:
		if fallback.IsValid() {
			fallback = fallback.Elem() // invalid for nil
		}
		return b.document(t.Elem(), fallback)
	case reflect.Struct:
		return b.fields(t, fallback)
	case reflect.Map:
		return jsonSchema{"type": "object", "additionalProperties": b.document(t.Elem(), reflect.Value{})}
	case reflect.Slice:
		return jsonSchema{"type": "array", "items": b.document(t.Elem(), reflect.Value{})}
	}
	schema := jsonSchema{"type": jsonTypes[t.Kind()]}
	if schema["type"] == "" {
		b.fail("%s is not supported in documents", t)
	}
	if fallback.IsValid() && !fallback.IsZero() {
		schema["default"] = fallback.Interface()
	}
	return schema
}

// fields returns the schema of a struct. Fields without omitempty are required.
func (b *builder) fields(t reflect.Type, fallback reflect.Value) jsonSchema {
	properties, required := jsonSchema{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		var value reflect.Value
		if fallback.IsValid() {
			value = fallback.FieldByIndex(field.Index)
		}
		schema := b.document(field.Type, value)
		b.bound(schema, field)
		properties[name] = described(schema, withoutSubject(b.comment(owner(t, field.Index), field.Name), field.Name))
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return closed(properties, required)
}

// closed returns the schema of a mapping with the given fields only.
func closed(properties jsonSchema, required []string) jsonSchema {
	schema := jsonSchema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// owner returns the struct that declares a field, which may be embedded.
func owner(t reflect.Type, index []int) reflect.Type {
	for ; len(index) > 1; index = index[1:] {
		t = t.Field(index[0]).Type
	}
	return t
}

// bound adds the limits in a field's tags, in the format of pkg/source.
func (b *builder) bound(schema jsonSchema, field reflect.StructField) {
	limits, err := source.LimitsOf(field.Tag)
	if err != nil {
		b.fail("%s: %w", field.Name, err)
	}
	if limits.OneOf != nil {
		schema["enum"] = limits.OneOf
	}
	if limits.Bounded {
		schema["minimum"], schema["maximum"] = limits.Least, limits.Most
	}
}

// whole matches a string that is one expression, and so can replace a value of any type.
const whole = `^\$\{[\s\S]*\}$`

// module is the prefix of this module's packages, where comments start with the name of the field.
const module = "github.com/graft-provider/"

// written maps Kubernetes types with their own JSON encoding to the JSON types of the encoding.
var written = map[reflect.Type][]string{
	reflect.TypeFor[resource.Quantity]():  {"string", "number"},
	reflect.TypeFor[intstr.IntOrString](): {"string", "integer"},
	reflect.TypeFor[metav1.Duration]():    {"string"},
	reflect.TypeFor[metav1.Time]():        {"string"},
	reflect.TypeFor[metav1.MicroTime]():   {"string"},
	reflect.TypeFor[metav1.FieldsV1]():    {"object"},
	reflect.TypeFor[json.RawMessage]():    {"object"},
}

// shape returns the schema of a type in Kubernetes' encoding. Every value may be an expression. No field is
// required, because edits are merged into existing objects.
func (b *builder) shape(t reflect.Type) jsonSchema {
	if types := written[t]; types != nil {
		return orExpression(types...)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return jsonSchema{} // the type has an unknown encoding
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.shape(t.Elem())
	case reflect.String:
		return b.shapeOfString(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return jsonSchema{"type": "string"}
		}
		return withMember(orExpression("array"), "items", b.shape(t.Elem()))
	case reflect.Map:
		return withMember(orExpression("object"), "additionalProperties", b.shape(t.Elem()))
	case reflect.Struct:
		return b.shapeOfStruct(t)
	}
	if jsonTypes[t.Kind()] == "" {
		b.fail("%s is not a type of Kubernetes' objects", t)
	}
	return orExpression(jsonTypes[t.Kind()])
}

// withMember returns a copy of a schema with one more member.
func withMember(schema jsonSchema, member string, value any) jsonSchema {
	schema = maps.Clone(schema)
	schema[member] = value
	return schema
}

// orExpression allows the types, and a string that is one expression. The pattern applies to strings only.
func orExpression(types ...string) jsonSchema {
	if slices.Contains(types, "string") {
		return jsonSchema{"type": types}
	}
	return jsonSchema{"type": append(types, "string"), "pattern": whole}
}

func (b *builder) shapeOfString(t reflect.Type) jsonSchema {
	if t.PkgPath() == "" {
		return jsonSchema{"type": "string"}
	}
	values := b.enum(t)
	if values == nil {
		return jsonSchema{"type": "string"}
	}
	return jsonSchema{"anyOf": []jsonSchema{{"enum": values}, {"type": "string", "pattern": whole}}}
}

// shapeOfStruct returns a reference to the type's definition, which it creates on first use.
func (b *builder) shapeOfStruct(t reflect.Type) jsonSchema {
	name := strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
	if _, ok := b.definitions[name]; ok {
		return reference(name)
	}
	schema := orExpression("object")
	b.definitions[name] = schema // before the fields, which may have the same type
	schema["properties"], schema["additionalProperties"] = b.shapeFields(t), false
	if text := describe(b.comment(t)); text != "" {
		schema["description"] = text
	}
	return reference(name)
}

func (b *builder) shapeFields(t reflect.Type) jsonSchema {
	properties := jsonSchema{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "":
			maps.Copy(properties, b.shapeFields(field.Type))
			continue
		}
		comment := b.comment(t, field.Name)
		if strings.HasPrefix(t.PkgPath(), module) {
			comment = withoutSubject(comment, field.Name)
		}
		properties[name] = described(b.shape(field.Type), comment)
	}
	return properties
}
