// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import "go.yaml.in/yaml/v3"

// unite leaves every key of the mappings in a document once, and only keys that are plain texts, so that whoever looks for a value by its key or its
// index finds the one that was decoded. What stands under a key twice is joined as far as it can be: what is wrong with either is found.
func unite(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		var kept []*yaml.Node
		first := map[string]int{} // the indices of the values
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if !isPlain(key) {
				continue
			}
			if at, ok := first[key.Value]; ok {
				kept[at] = united(kept[at], value)
				continue
			}
			first[key.Value] = len(kept) + 1
			kept = append(kept, key, value)
		}
		n.Content = kept
	}
	for _, inner := range n.Content {
		unite(inner)
	}
}

// isPlain says whether a key is a plain text.
func isPlain(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag != "!!merge" }

// united is the first of two values with the members or items of the second, where both are mappings or lists, and else the first that is there.
func united(a, b *yaml.Node) *yaml.Node {
	switch {
	case Node{Node: a}.Absent():
		return b
	case a.Kind != b.Kind || equal(a, b):
	case a.Kind == yaml.MappingNode:
		a.Content = append(a.Content, b.Content...)
	case a.Kind == yaml.SequenceNode:
		type text struct{ tag, value string }
		seen := map[text]bool{}
		for _, item := range a.Content {
			seen[text{item.Tag, item.Value}] = item.Kind == yaml.ScalarNode
		}
		for _, item := range b.Content {
			if item.Kind != yaml.ScalarNode || !seen[text{item.Tag, item.Value}] {
				a.Content = append(a.Content, item)
			}
		}
	}
	return a
}
