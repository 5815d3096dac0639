// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// equal compares values as JSON has them.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// canonical is a value as JSON has it, with float64 for numbers.
func canonical(value any) any {
	raw, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var read any
	if json.Unmarshal(raw, &read) != nil {
		return value
	}
	return read
}

// valueOf is the value of a node of an object; false where there is none.
func valueOf(n *document.Node) (any, bool) {
	if n == nil || n.Kind() == document.Invalid {
		return nil, false
	}
	var value any
	if json.Unmarshal(n.Raw(), &value) != nil {
		return nil, false
	}
	return value, true
}

// follow is the node at a path; nil where there is none.
func follow(n *document.Node, path fieldpath.Path) *document.Node {
	for _, step := range path {
		switch {
		case step.By != "":
			n = n.ItemWith(step.By, step.Key)
		case step.Position:
			i, _ := strconv.Atoi(step.Key)
			n = n.Item(i)
		default:
			n = n.Get(step.Key)
		}
	}
	return n
}

// followValue is the value at a path in a value that was decoded.
func followValue(value any, path fieldpath.Path) (any, bool) {
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

// shown is a value for people: text as it is, anything else as YAML in one line where that is short.
func shown(value any) string {
	switch value := value.(type) {
	case nil:
		return absent
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
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return string(raw)
	}
	return strings.TrimRight(string(text), "\n")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
