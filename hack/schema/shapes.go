// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
func (b *builder) shape(t reflect.Type) (object, error) {
	if types := written[t]; types != nil {
		return orExpression(types...), nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return object{}, nil // the type has an unknown encoding
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.shape(t.Elem())
	case reflect.String:
		return b.shapeOfString(t)
	case reflect.Bool:
		return orExpression("boolean"), nil
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32:
		return orExpression("integer"), nil
	case reflect.Float32, reflect.Float64:
		return orExpression("number"), nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string"}, nil
		}
		return b.shapeWith(orExpression("array"), "items", t.Elem())
	case reflect.Map:
		return b.shapeWith(orExpression("object"), "additionalProperties", t.Elem())
	case reflect.Struct:
		return b.shapeOfStruct(t)
	default:
		return nil, fmt.Errorf("%s is not a type of Kubernetes' objects", t)
	}
}

// orExpression allows the types, and a string that is one expression. The pattern applies to strings only.
func orExpression(types ...string) object {
	if slices.Contains(types, "string") {
		return object{"type": types}
	}
	return object{"type": append(types, "string"), "pattern": whole}
}

func (b *builder) shapeWith(schema object, member string, t reflect.Type) (object, error) {
	inner, err := b.shape(t)
	schema[member] = inner
	return schema, err
}

func (b *builder) shapeOfString(t reflect.Type) (object, error) {
	if t.PkgPath() == "" {
		return object{"type": "string"}, nil
	}
	values, err := b.comments.enum(t)
	if err != nil || values == nil {
		return object{"type": "string"}, err
	}
	return object{"anyOf": []object{{"enum": values}, {"type": "string", "pattern": whole}}}, nil
}

// shapeOfStruct returns a reference to the type's definition, which it creates on first use.
func (b *builder) shapeOfStruct(t reflect.Type) (object, error) {
	name := strings.NewReplacer("/", ".").Replace(t.PkgPath()) + "." + t.Name()
	if _, ok := b.definitions[name]; ok {
		return reference(name), nil
	}
	schema := orExpression("object")
	b.definitions[name] = schema // before the fields, which may have the same type
	comment, err := b.comments.ofType(t)
	if err != nil {
		return nil, err
	}
	properties, err := b.shapeFields(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	schema["properties"], schema["additionalProperties"] = properties, false
	if text := describe(comment); text != "" {
		schema["description"] = text
	}
	return reference(name), nil
}

func (b *builder) shapeFields(t reflect.Type) (object, error) {
	properties := object{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "":
			inline, err := b.shapeFields(field.Type)
			if err != nil {
				return nil, err
			}
			for _, key := range sortedKeys(inline) {
				properties[key] = inline[key]
			}
			continue
		}
		schema, err := b.shape(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		comment, err := b.comments.ofField(t, field.Name)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(t.PkgPath(), module) {
			comment = withoutSubject(comment, field.Name)
		}
		properties[name] = described(schema, comment)
	}
	return properties, nil
}
