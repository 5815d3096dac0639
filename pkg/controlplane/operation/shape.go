// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrValue means that what an expression gave cannot stand in its place.
var ErrValue = errors.New("value not possible here")

// shapeOf gives values the form in which the API server stores them: without zero values that it drops and nulls, and with
// quantities in their canonical spelling. Otherwise the same rule would write them again at each update. What is no T is an
// error, also a field that T does not have, or has in other letters: Go reads such a one, and the API server drops it.
func shapeOf[T any](raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var typed T
	if err := decoder.Decode(&typed); err != nil {
		return nil, fmt.Errorf("%w: %s%s", ErrValue, strings.TrimPrefix(err.Error(), "json: "), meant(err, raw, reflect.TypeFor[T]()))
	}
	stored, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var written, canonical any
	if err := errors.Join(decode(raw, &written), decode(stored, &canonical)); err != nil {
		return nil, err
	}
	var slips []string
	result := common(written, canonical, &slips)
	if len(slips) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrValue, slices.Min(slips))
	}
	return json.Marshal(result)
}

// meant is the hint at the field that must have been meant, where the error is that a value has one which its type has not.
func meant(err error, raw []byte, of reflect.Type) string {
	var (
		value any
		name  string
	)
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok || json.Unmarshal([]byte(quoted), &name) != nil || decode(raw, &value) != nil {
		return ""
	}
	return source.Suggest(name, beside(name, value, of))
}

// beside are the fields that there are in place of the first one of a name that a value has, and its type has not.
func beside(name string, value any, of reflect.Type) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	var inner func(key string) reflect.Type
	switch of.Kind() {
	case reflect.Slice:
		items, _ := value.([]any)
		for _, item := range items {
			if known := beside(name, item, of.Elem()); known != nil {
				return known
			}
		}
		return nil
	case reflect.Map:
		inner = func(string) reflect.Type { return of.Elem() }
	case reflect.Struct:
		fields := map[string]reflect.Type{}
		for _, field := range reflect.VisibleFields(of) {
			if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && key != "-" {
				fields[key] = field.Type
			}
		}
		members, _ := value.(map[string]any)
		if _, has := members[name]; has && fields[name] == nil {
			return slices.Sorted(maps.Keys(fields))
		}
		inner = func(key string) reflect.Type { return fields[key] }
	default:
		return nil
	}
	members, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if of := inner(key); of != nil {
			if known := beside(name, members[key], of); known != nil {
				return known
			}
		}
	}
	return nil
}

func decode(raw []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// common is the canonical value without the members that were not written. Slips are about members that were written in other letters.
func common(written, canonical any, slips *[]string) any {
	switch canonical := canonical.(type) {
	case map[string]any:
		members, ok := written.(map[string]any)
		if !ok {
			return canonical
		}
		*slips = appendInOtherLetters(*slips, members, canonical)
		for key, value := range canonical {
			member, ok := members[key]
			if !ok || member == nil {
				delete(canonical, key)
				continue
			}
			canonical[key] = common(member, value, slips)
		}
	case []any:
		items, ok := written.([]any)
		if !ok || len(items) != len(canonical) {
			return canonical
		}
		for i := range canonical {
			canonical[i] = common(items[i], canonical[i], slips)
		}
	}
	return canonical
}

// appendInOtherLetters appends what is said of each member that is a field but for the case of its letters.
func appendInOtherLetters(slips []string, members, canonical map[string]any) []string {
	for key := range members {
		if _, ok := canonical[key]; ok {
			continue
		}
		for field := range canonical {
			if strings.EqualFold(key, field) {
				slips = append(slips, fmt.Sprintf("unknown field %q%s", key, source.Suggest(key, []string{field})))
			}
		}
	}
	return slips
}

// shaped is a structured value that is given a shape: at once when it is constant, which is then checked, or when it is computed.
func (v Value) shaped(shape func([]byte) ([]byte, error), n source.Node, path string) (Value, source.Findings) {
	if v.constant == nil {
		v.shape = shape
		return v, nil
	}
	raw, err := shape(v.constant.JSON)
	if err != nil {
		return v, source.FindingsOf(n, path, err).Of(WrongShape)
	}
	v.constant = &Resolved{JSON: raw}
	return v, nil
}
