// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// JSONError returns an error of encoding/json in words for authors of documents: without types of Go.
func JSONError(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	given, isNumber := strings.CutPrefix(wrong.Value, "number ")
	if !isNumber {
		given = map[string]string{"array": "a list", "object": "a mapping", "bool": "true or false", "string": "a string", "number": "a number"}[given]
	}
	problem := fmt.Errorf("%s is needed instead of %s", jsonType(wrong.Type), given)
	if wrong.Field != "" {
		return fmt.Errorf("in %s, %w", wrong.Field, problem)
	}
	return problem
}

// jsonType describes the JSON of a type.
func jsonType(t reflect.Type) string {
	switch kind := t.Kind(); kind {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Int32:
		return "a whole number of 32 bits"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return scalarName(kind)
	}
}

// FieldsBeside returns the fields that a type has beside the last one of a path such as spec.workers[0].name.
func FieldsBeside(path string, of reflect.Type) []string {
	for step := range strings.SplitSeq(path, ".") {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Map {
			of = of.Elem()
			continue
		}
		if of.Kind() != reflect.Struct {
			return nil
		}
		fields := StructFields(of)
		name, _, _ := strings.Cut(step, "[")
		if of = fields[name].Type; of == nil {
			return slices.Collect(maps.Keys(fields))
		}
	}
	return nil
}

// StructFields returns the fields of a struct by their names in JSON, including those of embedded structs without a name.
func StructFields(of reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(of) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && key != "-" && field.IsExported() {
			fields[key] = field
		}
	}
	return fields
}
