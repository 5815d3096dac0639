// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// node is a part of an object as JSON decodes it. What is not there is the zero node.
type node struct{ value any }

// at goes down a path of members.
func (n node) at(path ...string) node {
	for _, key := range path {
		members, _ := n.value.(map[string]any)
		n = node{members[key]}
	}
	return n
}

// there says whether there is something other than null.
func (n node) there() bool { return n.value != nil }

func (n node) text(path ...string) string {
	text, _ := n.at(path...).value.(string)
	return text
}

// replicas is spec.replicas of an object, which defaults to one.
func (n node) replicas() int64 {
	number, ok := n.at("spec", "replicas").value.(json.Number)
	if !ok {
		return 1
	}
	whole, err := number.Int64()
	if err != nil {
		return 1
	}
	return whole
}

func (n node) items() []node {
	list, _ := n.value.([]any)
	items := make([]node, len(list))
	for i := range list {
		items[i] = node{list[i]}
	}
	return items
}

// texts are the items that are strings.
func (n node) texts() []string {
	var texts []string
	for _, item := range n.items() {
		if text, ok := item.value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

func (n node) keys() map[string]any {
	members, _ := n.value.(map[string]any)
	return members
}

// without is a copy that lacks some members.
func (n node) without(members ...string) node {
	all, ok := n.value.(map[string]any)
	if !ok {
		return n
	}
	all = maps.Clone(all)
	for _, key := range members {
		delete(all, key)
	}
	return node{all}
}

// by indexes the items of a list by a member that names them.
func (n node) by(member string) map[string]node {
	index := map[string]node{}
	for _, item := range n.items() {
		index[item.text(member)] = item
	}
	return index
}

// own is the object without what the API server and controllers alone write.
func (n node) own() node {
	object := n.without("status")
	if metadata := n.at("metadata"); metadata.there() {
		object.value.(map[string]any)["metadata"] = metadata.without(
			"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink").value
	}
	return object
}

func (n node) group() string {
	group, _, found := strings.Cut(n.text("apiVersion"), "/")
	if !found {
		return ""
	}
	return group
}

// equal compares parts as the API server does: what is null is not there.
func (n node) equal(other node) bool { return reflect.DeepEqual(pruned(n.value), pruned(other.value)) }

// pruned leaves out members that are null.
func pruned(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(value))
		for key, member := range value {
			if member != nil {
				kept[key] = pruned(member)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = pruned(value[i])
		}
		return kept
	default:
		return value
	}
}

// changed says whether a part is different on the two sides.
func (c *change) changed(path ...string) bool {
	return !c.before.at(path...).equal(c.after.at(path...))
}

// places are the changed places at or below a path of which is known that it changed, without those below another of them; the path
// itself where the lines read the same, as when only the order of items is different.
func (c *change) places(path string) []string {
	var found []string
	for _, p := range c.paths {
		if within(p, path) && (len(found) == 0 || !within(p, found[len(found)-1])) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return []string{path}
	}
	return found
}

// within says whether a place is another one or below it.
func within(place, outer string) bool {
	return place == outer || strings.HasPrefix(place, outer) && strings.ContainsRune(".[", rune(place[len(outer)]))
}
