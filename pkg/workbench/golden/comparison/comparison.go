// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package comparison compares expected and actual values, member by member, and formats both for output. All kinds of
// tests use it.
//
// It does not depend on kinds of tests. Start reading at Differences.
package comparison

import (
	"bytes"
	"encoding/json"
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

// Differences compares a value with the expected one: the named members of a mapping, and other values completely. An
// expected nil is a missing value.
func Differences(path string, want, got any, there bool) []Mismatch {
	if want == nil {
		if !there || got == nil {
			return nil
		}
		return []Mismatch{{path, Absent, Shown(got)}}
	}
	if !there {
		return []Mismatch{{path, Shown(want), Absent}}
	}
	members, ok := want.(map[string]any)
	if !ok {
		if Equal(want, got) {
			return nil
		}
		return []Mismatch{of(path, want, got)}
	}
	others, ok := got.(map[string]any)
	if !ok {
		return []Mismatch{of(path, want, got)}
	}
	var all []Mismatch
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, there := others[name]
		all = append(all, Differences(path+"."+name, members[name], value, there)...)
	}
	return all
}

// of returns the mismatch of two values, as JSON if their texts are equal: the text 1 and the number.
func of(path string, want, got any) Mismatch {
	m := Mismatch{path, Shown(want), Shown(got)}
	if m.Want != m.Got {
		return m
	}
	texts := make([]string, 2)
	for i, value := range []any{want, got} {
		raw, err := json.Marshal(value)
		if err != nil {
			return m
		}
		texts[i] = string(raw)
	}
	return Mismatch{path, texts[0], texts[1]}
}

// Equal compares values as JSON has them.
func Equal(a, b any) bool { return reflect.DeepEqual(a, b) }

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
	raw, err := json.Marshal(value)
	const most = 100
	if err != nil || len(raw) <= most {
		return string(raw)
	}
	text, err := kyaml.JSONToYAML(raw)
	if err != nil {
		return string(raw)
	}
	return strings.TrimRight(string(text), "\n")
}

// Follow returns the value at a path in a decoded value.
func Follow(value any, path fieldpath.Path) (any, bool) {
	for _, step := range path {
		switch list, isList := value.([]any); {
		case step.By != "":
			found := slices.IndexFunc(list, func(item any) bool {
				object, _ := item.(map[string]any)
				return object[step.By] == step.Key
			})
			if found < 0 {
				return nil, false
			}
			value = list[found]
		case step.Position:
			i, _ := strconv.Atoi(step.Key)
			if !isList || i >= len(list) {
				return nil, false
			}
			value = list[i]
		default:
			object, _ := value.(map[string]any)
			member, ok := object[step.Key]
			if !ok {
				return nil, false
			}
			value = member
		}
	}
	return value, true
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

// Plain returns the value of a node as decoded JSON: numbers are float64.
func Plain(n source.Node) any {
	if n.Absent() {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		members := map[string]any{}
		for _, field := range n.Fields() {
			members[field.Key.Value] = Plain(field.Value)
		}
		return members
	case yaml.SequenceNode:
		items := make([]any, 0, len(n.Content))
		for _, item := range n.Items() {
			items = append(items, Plain(item))
		}
		return items
	}
	switch value := scalar(n).(type) {
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case uint64:
		return float64(value)
	default:
		return value
	}
}

// scalar returns the value of a scalar, or its text if JSON cannot express the YAML value.
func scalar(n source.Node) any {
	var value any
	if n.Decode(&value) != nil {
		return n.Value
	}
	switch value := value.(type) {
	case int, int64, uint64, bool, float64, string, nil:
		return value
	}
	return n.Value
}

// JSON returns a node as JSON, with the order of its members and integers unchanged. It fails for values that JSON
// cannot express.
func JSON(n source.Node) (json.RawMessage, error) {
	var out bytes.Buffer
	err := write(&out, n)
	return out.Bytes(), err
}

func write(out *bytes.Buffer, n source.Node) error {
	switch {
	case n.Node != nil && n.Kind == yaml.MappingNode:
		begin := byte('{')
		for _, field := range n.Fields() {
			out.WriteByte(begin)
			begin = ','
			key, err := json.Marshal(field.Key.Value)
			if err != nil {
				return err
			}
			out.Write(append(key, ':'))
			if err := write(out, field.Value); err != nil {
				return err
			}
		}
		if begin == '{' {
			out.WriteByte('{')
		}
		out.WriteByte('}')
	case n.Node != nil && n.Kind == yaml.SequenceNode:
		begin := byte('[')
		for _, item := range n.Items() {
			out.WriteByte(begin)
			begin = ','
			if err := write(out, item); err != nil {
				return err
			}
		}
		if begin == '[' {
			out.WriteByte('[')
		}
		out.WriteByte(']')
	default:
		var value any
		if !n.Absent() {
			value = scalar(n)
		}
		raw, err := json.Marshal(value)
		out.Write(raw)
		return err
	}
	return nil
}
