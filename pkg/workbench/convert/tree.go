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

// decodeTree reads a JSON object. Members that are null are left out, as the API server does.
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

// clone is a deep copy.
func clone(value any) any {
	switch value := value.(type) {
	case tree:
		out := make(tree, len(value))
		for key, member := range value {
			out[key] = clone(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = clone(item)
		}
		return out
	}
	return value
}

// at is what stands at a path of members; nil where nothing does.
func at(value any, path ...string) any {
	for _, key := range path {
		members, _ := value.(tree)
		value = members[key]
	}
	return value
}

// treeAt is the object at a path; nil where there is none.
func treeAt(value any, path ...string) tree {
	found, _ := at(value, path...).(tree)
	return found
}

// textAt is the string at a path; empty where there is none.
func textAt(value any, path ...string) string {
	text, _ := at(value, path...).(string)
	return text
}

// drop removes what stands at a path, and the objects around it that are left empty.
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

// keyed are the items of a list by a member that each of them has, and that no two have alike; false for another list.
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

// but is an object without some of its members.
func but(t tree, keys ...string) tree {
	out := maps.Clone(t)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// union are the keys of two objects, those of the first in front, each sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.Sorted(maps.Keys(a))
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// rawOf is the JSON of a value, with sorted members.
func rawOf(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// Trees hold nothing that cannot be encoded.
	_ = encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes())
}
