// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Mismatch is a value that differs from the expected one.
type Mismatch struct {
	// Path is relative to the compared value.
	Path string
	// Want and Got are for people.
	Want, Got string
}

// Absent is the output for a missing value.
const Absent = "(absent)"

// Differences compares decoded JSON with the expected one: the named members of a mapping, and other values completely.
// Nil is a missing value.
func Differences(path string, want, got any) []Mismatch {
	members, isMapping := want.(map[string]any)
	others, ok := got.(map[string]any)
	switch {
	case isMapping && ok:
		var all []Mismatch
		for _, name := range slices.Sorted(maps.Keys(members)) {
			all = append(all, Differences(path+"."+name, members[name], others[name])...)
		}
		return all
	case reflect.DeepEqual(want, got):
		return nil
	}
	m := Mismatch{path, Shown(want), Shown(got)}
	if m.Want == m.Got { // the text 1 and the number
		m.Want, m.Got = oneLine(want), oneLine(got)
	}
	return []Mismatch{m}
}

// Shown formats a value for output: text unchanged, and other values as YAML, in one line if short.
func Shown(value any) string {
	switch value := value.(type) {
	case nil:
		return Absent
	case string:
		if value == "" || strings.TrimSpace(value) != value {
			return strconv.Quote(value)
		}
		return strings.TrimRight(value, "\n")
	}
	const most = 100
	line := oneLine(value)
	if len(line) <= most {
		return line
	}
	text, err := kyaml.JSONToYAML([]byte(line))
	if err != nil {
		return line
	}
	return strings.TrimRight(string(text), "\n")
}

// oneLine returns a decoded value as JSON.
func oneLine(value any) string {
	raw, _ := json.Marshal(value) // it was decoded from JSON
	return string(raw)
}

// Follow returns the value at a path in decoded JSON, or nil.
func Follow(value any, path fieldpath.Path) any {
	for _, step := range path {
		list, _ := value.([]any)
		object, _ := value.(map[string]any)
		switch {
		case step.By != "":
			value = nil
			if found := slices.IndexFunc(list, func(item any) bool { return Follow(item, fieldpath.Path{{Key: step.By}}) == step.Key }); found >= 0 {
				value = list[found]
			}
		case step.Position:
			value = nil
			if i, _ := strconv.Atoi(step.Key); i < len(list) {
				value = list[i]
			}
		default:
			value = object[step.Key]
		}
	}
	return value
}

// Canonical returns a value as decoded JSON: numbers are float64. It fails if the value cannot be encoded.
func Canonical(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding a value: %w", err)
	}
	var read any
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, fmt.Errorf("decoding a value: %w", err)
	}
	return read, nil
}

// Plain returns the value of a node as decoded JSON: numbers are float64. If JSON cannot express it,
// as .inf, it returns its text, which is empty for a mapping or a list.
func Plain(n source.Node) any {
	raw, err := JSON(n)
	if err != nil {
		return n.Value
	}
	var value any
	_ = json.Unmarshal(raw, &value) // JSON wrote it
	return value
}

// JSON returns a node as JSON, with the order of its members and integers unchanged. It fails for values that JSON
// cannot express.
func JSON(n source.Node) (json.RawMessage, error) {
	var parts [][]byte
	switch {
	case n.Absent():
		return json.RawMessage("null"), nil
	case n.Kind == yaml.MappingNode:
		for _, field := range n.Fields() {
			key, invalid := json.Marshal(field.Key.Value)
			value, err := JSON(field.Value)
			if err := errors.Join(invalid, err); err != nil {
				return nil, err
			}
			parts = append(parts, slices.Concat(key, []byte(":"), value))
		}
		return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}")), nil
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Items() {
			value, err := JSON(item)
			if err != nil {
				return nil, err
			}
			parts = append(parts, value)
		}
		return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]")), nil
	}
	var value any
	if n.Decode(&value) != nil {
		return json.Marshal(n.Value)
	}
	switch value.(type) {
	case int, int64, uint64, bool, float64, string, nil:
		return json.Marshal(value)
	}
	return json.Marshal(n.Value) // such as a date
}
