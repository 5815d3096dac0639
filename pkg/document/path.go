// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// Step returns the value at a step of a path, or nil.
func (n *Node) Step(s fieldpath.Step) *Node {
	switch {
	case s.Position:
		i, err := strconv.Atoi(s.Key)
		if err != nil {
			return nil
		}
		return n.Item(i)
	case s.By == "":
		return n.Get(s.Key)
	}
	if i := slices.IndexFunc(n.Items(), func(item *Node) bool { return item.isSelected(s) }); i >= 0 {
		return n.Item(i)
	}
	return nil
}

// isSelected reports whether a step selects an item by its member. An unquoted 443 matches 443 and "443".
func (n *Node) isSelected(s fieldpath.Step) bool {
	member := n.Get(s.By)
	return member.Is(s.Key) || !s.Quoted && member.Kind() != String && string(member.Raw()) == s.Key
}

// RemoveStep removes the member or the item at a step, or all items that it selects by their member.
func (n *Node) RemoveStep(s fieldpath.Step) {
	if s.By == "" && !s.Position {
		n.Remove(s.Key)
		return
	}
	for i, item := range slices.Backward(n.Items()) {
		if s.Position && strconv.Itoa(i) == s.Key || !s.Position && item.isSelected(s) {
			n.RemoveItem(i)
		}
	}
}

// notText matches the values that a new item has as a number or a boolean.
var notText = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17}|true|false)$`)

// NewItem returns a new item in JSON with the member that a step selects it by.
func NewItem(s fieldpath.Step) []byte {
	value := Quote(s.Key)
	if !s.Quoted && notText.MatchString(s.Key) {
		value = []byte(s.Key)
	}
	return slices.Concat([]byte("{"), Quote(s.By), []byte(":"), value, []byte("}"))
}
