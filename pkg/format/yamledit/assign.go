// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// assignAt gives the value at a path below a mapping. It reports whether anything changed. Missing mappings are made.
func assignAt(mapping *yaml.Node, path []string, wanted *document.Node, merge bool) bool {
	if len(path) == 0 {
		return assign(mapping, wanted, merge)
	}
	changed := false
	if kindOf(mapping) == document.Null {
		replace(mapping, &yaml.Node{Kind: yaml.MappingNode})
		changed = true
	}
	next := member(mapping, path[0])
	if next == nil {
		if next = nodeOf(wanted); len(path) > 1 {
			next = &yaml.Node{Kind: yaml.MappingNode}
			assignAt(next, path[1:], wanted, merge)
		}
		addMember(mapping, path[0], next)
		return true
	}
	return assignAt(next, path[1:], wanted, merge) || changed
}

// assign sets a node to the wanted value with as few changes as possible, and reports whether there were any.
func assign(n *yaml.Node, wanted *document.Node, merge bool) bool {
	switch kind := kindOf(n); {
	case kind == document.Object && wanted.Kind() == document.Object:
		return assignMembers(n, wanted, merge)
	case equal(n, wanted):
		return false
	case kind == document.Array && wanted.Kind() == document.Array && wanted.Len() > 0:
		assignItems(n, wanted.Items())
	default:
		replace(n, nodeOf(wanted))
	}
	return true
}

func assignMembers(n *yaml.Node, wanted *document.Node, merge bool) bool {
	changed := false
	for key, value := range wanted.Members() {
		if old := member(n, key); old != nil {
			changed = assign(old, value, merge) || changed
		} else {
			addMember(n, key, nodeOf(value))
			changed = true
		}
	}
	for i := len(n.Content) - 2; i >= 0 && !merge; i -= 2 {
		if key := n.Content[i].Value; wanted.Get(key) == nil {
			changed = removeMember(n, key) || changed
		}
	}
	return changed
}

// assignItems changes the items between those that are equal at the beginning and at the end.
func assignItems(n *yaml.Node, wanted []*document.Node) {
	head := 0
	for head < min(len(n.Content), len(wanted)) && equal(n.Content[head], wanted[head]) {
		head++
	}
	tail := 0
	for tail < min(len(n.Content), len(wanted))-head && equal(n.Content[len(n.Content)-1-tail], wanted[len(wanted)-1-tail]) {
		tail++
	}
	old, wanted := n.Content[head:len(n.Content)-tail], wanted[head:len(wanted)-tail]
	for i := range wanted {
		if i < len(old) {
			assign(old[i], wanted[i], false)
		} else {
			n.Content = slices.Insert(n.Content, head+i, nodeOf(wanted[i]))
		}
	}
	if len(old) > len(wanted) {
		n.Content = removeNodes(n.Content, head+len(wanted), head+len(old), 1)
	}
}

// replace gives a node another value. Its comments stay.
func replace(n, value *yaml.Node) {
	n.Kind, n.Style, n.Tag, n.Value, n.Content = value.Kind, value.Style, value.Tag, value.Value, value.Content
	lowerComment(n)
}

// lowerComment moves the comment on the line of a value above its first member or item, if it has one.
func lowerComment(n *yaml.Node) {
	if len(n.Content) > 0 && n.LineComment != "" && n.Style&yaml.FlowStyle == 0 {
		n.Content[0].HeadComment, n.LineComment = n.LineComment, ""
	}
}

// addMember appends a member to a mapping. One that was empty is written on lines from now on.
func addMember(mapping *yaml.Node, key string, value *yaml.Node) {
	if len(mapping.Content) == 0 {
		mapping.Style &^= yaml.FlowStyle
	}
	mapping.Content = append(mapping.Content, text(key), value)
	lowerComment(mapping)
}

func removeMember(mapping *yaml.Node, key string) bool {
	i := indexOf(mapping, key)
	if i < 0 {
		return false
	}
	mapping.Content = removeNodes(mapping.Content, i, i+2, 2)
	return true
}

// removeNodes removes nodes from a collection with the given number of nodes per member or item. The comment above the
// first removed one is moved to the next member or item, or below the previous one.
func removeNodes(content []*yaml.Node, from, to, each int) []*yaml.Node {
	comment := content[from].HeadComment
	switch {
	case comment == "":
	case to < len(content):
		content[to].HeadComment = strings.TrimSuffix(comment+"\n"+content[to].HeadComment, "\n")
	case from > 0:
		content[from-each].FootComment = strings.TrimPrefix(content[from-each].FootComment+"\n"+comment, "\n")
	}
	return slices.Delete(content, from, to)
}

// nodeOf returns a value of JSON as a node.
func nodeOf(value *document.Node) *yaml.Node {
	switch value.Kind() {
	case document.Object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for key, inner := range value.Members() {
			n.Content = append(n.Content, text(key), nodeOf(inner))
		}
		return n
	case document.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value.Items() {
			n.Content = append(n.Content, nodeOf(item))
		}
		return n
	case document.String:
		s, _ := value.Text()
		return text(s)
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(value.Raw())}
	}
}

// equal compares a node with a value of JSON.
func equal(n *yaml.Node, wanted *document.Node) bool {
	if kindOf(n) != wanted.Kind() {
		return false
	}
	switch wanted.Kind() {
	case document.Object:
		if len(n.Content) != 2*wanted.Len() {
			return false
		}
		for i := 0; i < len(n.Content); i += 2 {
			if value := wanted.Get(n.Content[i].Value); value == nil || !equal(n.Content[i+1], value) {
				return false
			}
		}
		return true
	case document.Array:
		return slices.EqualFunc(n.Content, wanted.Items(), equal)
	case document.String:
		return wanted.Is(n.Value)
	case document.Number:
		return n.Value == string(wanted.Raw()) || sameNumber(n, wanted)
	default:
		return valueOf(n) == wanted.Value()
	}
}

// sameNumber compares a number with one of JSON. A fraction of zero makes no difference.
func sameNumber(n *yaml.Node, wanted *document.Node) bool {
	value := valueOf(n)
	if f, ok := value.(float64); ok {
		parsed, err := strconv.ParseFloat(string(wanted.Raw()), 64)
		return err == nil && f == parsed
	}
	return value == wanted.Value()
}
