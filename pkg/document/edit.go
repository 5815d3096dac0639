// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// Set adds a member to an object, or replaces it in place. New members are appended. Setting a JSON-equal value is not
// an edit; numbers are compared as written. It fails with ErrKind for another kind of node, and with ErrSyntax for
// invalid JSON.
func (n *Node) Set(key string, raw []byte) (*Node, error) {
	if err := n.editable(Object); err != nil {
		return nil, fmt.Errorf("setting a member: %w", err)
	}
	if k := n.member(key); k != nil {
		return k, k.put(raw)
	}
	if !utf8.ValidString(key) {
		return nil, fmt.Errorf("setting a member whose key is not UTF-8: %w", ErrSyntax)
	}
	at, err := n.doc.add(raw)
	if err != nil {
		return nil, fmt.Errorf("setting a member: %w", err)
	}
	k := n.newChild(at)
	k.name = key
	n.kids = append(n.kids, k)
	if n.byKey != nil {
		n.byKey[key] = k
	} else if len(n.kids) > manyMembers {
		n.mapMembers()
	}
	n.doc.version++
	n.mark()
	return k, nil
}

// Ensure returns the member of an object, and makes it an empty object or array if it is absent or null. A member of
// another kind is ErrKind.
func (n *Node) Ensure(key string, kind Kind) (*Node, error) {
	if k := n.Get(key); k != nil && k.Kind() != Null {
		if k.Kind() != kind {
			return nil, fmt.Errorf("expecting an %s, found a %s: %w", kind, k.Kind(), ErrKind)
		}
		return k, nil
	}
	switch kind {
	case Object:
		return n.Set(key, []byte("{}"))
	case Array:
		return n.Set(key, []byte("[]"))
	default:
		return nil, fmt.Errorf("making a %s: %w", kind, ErrKind)
	}
}

// Remove removes a member from an object. It does nothing if the member is missing, or if no edit is possible: in a
// removed place, in the original, or in an object with duplicate keys (see Document.Err).
func (n *Node) Remove(key string) {
	if n.editable(Object) != nil {
		return
	}
	k := n.member(key)
	if k == nil || k.gone {
		return
	}
	k.reset()
	k.gone = true
	n.doc.countRemoval()
	n.mark()
}

// Replace puts another value in the place, as Set does. The root can be replaced too. It fails with ErrSyntax for
// invalid JSON.
func (n *Node) Replace(raw []byte) error {
	if n == nil {
		return fmt.Errorf("replacing a value: %w", ErrKind)
	}
	if err := n.editable(n.Kind()); err != nil {
		return fmt.Errorf("replacing a value: %w", err)
	}
	return n.put(raw)
}

// put replaces the value of a place, or restores a removed member.
func (n *Node) put(raw []byte) error {
	if !n.gone && !n.edited && bytes.Equal(raw, n.text.bytesAt(n.at)) {
		return nil
	}
	added := &n.doc.added
	at, err := n.doc.add(raw)
	if err != nil {
		return fmt.Errorf("replacing a value: %w", err)
	}
	if now, old := snapshot(n); !n.gone && equal(now, old, added, at) {
		return nil
	}
	unedited := !n.replaced && !n.edited && !n.gone
	if n.gone {
		n.doc.version++
	} else {
		n.doc.countRemoval()
	}
	n.gone = false
	if original, first := n.origin(); unedited || original == nil || !equal(original, first, added, at) {
		n.dropChildren()
		n.text, n.at, n.replaced = added, at, original != nil
	} else {
		n.reset()
	}
	n.parent.mark()
	return nil
}

// Editable returns an error unless the object can be edited.
func (n *Node) Editable() error { return n.editable(Object) }

// editable checks that the node belongs to an editable tree and has the kind.
func (n *Node) editable(kind Kind) error {
	switch {
	case n.Kind() != kind:
		return fmt.Errorf("expecting an %s, found %s: %w", kind, n.Kind(), ErrKind)
	case n.fixed:
		return ErrReadOnly
	case !n.alive():
		return ErrGone
	}
	if kind == Object {
		if n.open(); n.duplicate {
			return ErrDuplicateKey
		}
	}
	return nil
}

// mark marks the node, which has changed children, and its ancestors. It may be nil, for the parent of a root.
func (n *Node) mark() {
	for ; n != nil && !n.edited; n = n.parent {
		n.edited = true
	}
}

// reset takes all edits of the place and below back.
func (n *Node) reset() {
	n.dropChildren()
	if t, at := n.origin(); t != nil {
		n.text, n.at, n.replaced = t, at, false
	}
}

// dropChildren drops the children of a removed value.
func (n *Node) dropChildren() {
	for _, k := range n.kids {
		k.gone = true
	}
	n.kids, n.byKey = nil, nil
	n.opened, n.edited, n.reshaped, n.lent, n.duplicate = false, false, false, false, false
}

// touched reports whether an edit was made in the place. It may be nil.
func (n *Node) touched() bool {
	return n != nil && (n.gone || n.edited || n.replaced || n.was == 0)
}

// countRemoval counts an edit that removes or replaces a value.
func (d *Document) countRemoval() {
	d.version++
	d.removals++
}

// newChild returns the node of a new item or member.
func (n *Node) newChild(at uint32) *Node {
	k := &n.doc.arena.nodes.take(1)[0]
	k.doc, k.parent, k.text, k.at = n.doc, n, &n.doc.added, at
	return k
}

// Insert puts a value before the item at index i of an array; i may be its length. It fails with ErrKind, ErrIndex or
// ErrSyntax.
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

// Append adds a value to the end of an array. It fails as Insert does.
func (n *Node) Append(raw []byte) (*Node, error) {
	return n.Insert(n.Len(), raw)
}

// RemoveItem removes the item at index i from an array. It does nothing if there is none, nor where an edit is not
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
	n.doc.countRemoval()
	n.mark()
}

// own copies the list of children if a caller holds it.
func (n *Node) own() {
	if n.lent {
		n.kids, n.lent = slices.Clone(n.kids), false
	}
}

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
