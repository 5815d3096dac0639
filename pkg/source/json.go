// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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
