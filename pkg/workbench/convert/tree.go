// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// tree is a JSON object, decoded with numbers as they are written.
type tree = map[string]any

// decodeTree reads a JSON object without its members that are null, as the API server does.
func decodeTree(raw []byte) (tree, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var t tree
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	if t == nil {
		return tree{}, nil
	}
	return withoutNulls(t).(tree), nil
}

func withoutNulls(value any) any {
	switch value := value.(type) {
	case tree:
		for key, member := range value {
			if member == nil {
				delete(value, key)
				continue
			}
			value[key] = withoutNulls(member)
		}
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	}
	return value
}

// at returns the value at a path of members; nil where there is none.
func at(value any, path ...string) any {
	for _, key := range path {
		members, _ := value.(tree)
		value = members[key]
	}
	return value
}

// treeAt returns the object at a path; nil where there is none.
func treeAt(value any, path ...string) tree {
	found, _ := at(value, path...).(tree)
	return found
}

// textAt returns the string at a path; empty where there is none.
func textAt(value any, path ...string) string {
	text, _ := at(value, path...).(string)
	return text
}

// drop removes the value at a path, and the objects around it that become empty.
func drop(t tree, path ...string) {
	for last := len(path) - 1; last >= 0; last-- {
		parent := treeAt(t, path[:last]...)
		if _, there := parent[path[last]]; !there {
			return
		}
		if delete(parent, path[last]); len(parent) > 0 {
			return
		}
	}
}

// keyed returns the items of a list by a member that is unique, with their order; false where it is not.
func keyed(list any, key string) (map[string]tree, []string, bool) {
	items, ok := list.([]any)
	if !ok && list != nil {
		return nil, nil, false
	}
	byKey := map[string]tree{}
	var order []string
	for _, item := range items {
		name, ok := at(item, key).(string)
		if _, twice := byKey[name]; !ok || twice {
			return nil, nil, false
		}
		byKey[name] = item.(tree)
		order = append(order, name)
	}
	return byKey, order, true
}

// but returns an object without some of its members.
func but(t tree, keys ...string) tree {
	out := maps.Clone(t)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// union returns the keys of two objects: those of the first, then those that only the second has, each sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.Sorted(maps.Keys(a))
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// rawOf returns a value as JSON, with sorted members.
func rawOf(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// Trees hold nothing that cannot be encoded.
	_ = encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes())
}

// defaults are the values that the API server writes into containers for absent fields
// (kubernetes: pkg/apis/core/v1/defaults.go).
var defaults = map[string]any{
	"terminationMessagePath":   "/dev/termination-log",
	"terminationMessagePolicy": "File",
	"resources":                tree{},
	"protocol":                 "TCP",
	"scheme":                   "HTTP",
	"apiVersion":               "v1",
	"timeoutSeconds":           json.Number("1"),
	"periodSeconds":            json.Number("10"),
	"successThreshold":         json.Number("1"),
	"failureThreshold":         json.Number("3"),
}

// forgetDefaults deletes the defaults of the API server from a container or a list of containers.
func forgetDefaults(value any) {
	switch value := value.(type) {
	case tree:
		for name, member := range value {
			if known, ok := defaults[name]; ok && equal(known, member) {
				delete(value, name)
			}
			forgetDefaults(member)
		}
	case []any:
		for _, item := range value {
			forgetDefaults(item)
		}
	}
}
