// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"
)

// Insert puts a value before the item at index i of an array; i may be its length.
func (n *Node) Insert(i int, raw []byte) (*Node, error) {
	if err := n.editable(Array); err != nil {
		return nil, fmt.Errorf("inserting an item: %w", err)
	}
	n.open()
	if i < 0 || i > len(n.kids) {
		return nil, fmt.Errorf("inserting an item: %w", ErrIndex)
	}
	at, err := n.doc.add(raw)
	if err != nil {
		return nil, fmt.Errorf("inserting an item: %w", err)
	}
	k := n.newChild(at)
	n.own()
	n.kids = slices.Insert(n.kids, i, k)
	n.reshaped = true
	n.doc.version++
	n.mark()
	return k, nil
}

// Append adds a value to the end of an array.
func (n *Node) Append(raw []byte) (*Node, error) {
	return n.Insert(n.Len(), raw)
}

// RemoveItem takes the item at index i out of an array. It does nothing if there is none, nor where an edit is not
// possible.
func (n *Node) RemoveItem(i int) {
	if n.editable(Array) != nil {
		return
	}
	n.open()
	if i < 0 || i >= len(n.kids) {
		return
	}
	n.own()
	n.kids[i].gone = true
	n.kids = slices.Delete(n.kids, i, i+1)
	n.reshaped = true
	n.doc.lose()
	n.mark()
}

// own copies the list of children if a caller holds it.
func (n *Node) own() {
	if n.lent {
		n.kids, n.lent = slices.Clone(n.kids), false
	}
}
