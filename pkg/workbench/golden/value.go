// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// View is a mapping that computes its members; want is the expected member. An error is a member that cannot be read, and
// a []Mismatch has the differences of a member that is compared already.
type View func(key string, want source.Node) any

// ByPath returns a View of a value whose keys are paths. Unreadable paths have no value.
func ByPath(value any) View {
	return func(key string, _ source.Node) any {
		path, err := fieldpath.Parse(key)
		if err != nil {
			return nil
		}
		return path.In(value)
	}
}

// Mismatch is a value that differs from the expected one.
type Mismatch struct {
	// At is the expected value.
	At source.Node
	// Keys lead from the compared value to this one.
	Keys []string
	// Want and Got are for people.
	Want, Got string
}

// Absent is the output for a missing value.
const Absent = "(absent)"

// Compare compares decoded JSON or a View with the expected value: the named members of a mapping, and other values
// completely. Nil is a missing value. The keys lead to the value, for the mismatches.
func Compare(want source.Node, got any, keys ...string) []Mismatch {
	if known, ok := got.([]Mismatch); ok {
		for i := range known {
			known[i].Keys = keys
		}
		return known
	}
	view, _ := got.(View)
	if members, ok := got.(map[string]any); ok {
		view = func(key string, _ source.Node) any { return members[key] }
	}
	if view != nil && want.Node != nil && want.Kind == yaml.MappingNode {
		var all []Mismatch
		for _, f := range want.Fields() {
			all = append(all, Compare(f.Value, view(f.Key.Value, f.Value), append(slices.Clip(keys), f.Key.Value)...)...)
		}
		return all
	}
	wanted := Plain(want)
	if reflect.DeepEqual(wanted, got) {
		return nil
	}
	m := Mismatch{want, keys, Shown(wanted), Shown(got)}
	if m.Want == m.Got { // the text 1 and the number
		m.Want, m.Got = oneLine(wanted), oneLine(got)
	}
	return []Mismatch{m}
}

// Shown formats a value for output: text unchanged, and other values as JSON.
func Shown(value any) string {
	switch value := value.(type) {
	case nil:
		return Absent
	case error:
		return value.Error()
	case string:
		if value == "" || strings.TrimSpace(value) != value {
			return strconv.Quote(value)
		}
		return value
	}
	return oneLine(value)
}

// oneLine returns a decoded value as JSON.
func oneLine(value any) string {
	raw, _ := json.Marshal(value) // it was decoded from JSON
	return string(raw)
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

// Plain returns the value of a node as decoded JSON: numbers are float64. If JSON cannot express it, as .inf, it returns
// its text, which is empty for a mapping or a list.
func Plain(n source.Node) any {
	raw, err := JSON(n)
	if err != nil {
		return n.Value
	}
	var value any
	_ = json.Unmarshal(raw, &value) // JSON wrote it
	return value
}

// JSON returns a node as JSON, with integers unchanged. It fails for values that JSON cannot express.
func JSON(n source.Node) (json.RawMessage, error) {
	if n.Absent() {
		return json.RawMessage("null"), nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
