// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// canonical returns a value as decoded JSON, with float64 for numbers.
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

// valueOf returns the value of an object's node, or false if there is none.
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

// follow returns the node at a path, or nil.
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
