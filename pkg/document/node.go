// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"iter"
	"slices"
)

// Node is a place in the tree. A nil Node is a place where nothing stands; every method that reads is safe on it.
type Node struct {
	doc    *Document
	parent *Node
	text   *text // text and at: the value that edits of children refer to
	at     uint32
	was    uint32           // entry in the parent's text where the value stood at first; 0 for a new one and for a root
	name   string           // key of a new member
	kids   []*Node          // the children, made when the node is opened; members that were removed stay as gone
	byKey  map[string]*Node // of an object with many members

	judged    int // version of the document, plus 1, for which verdict holds; see differs
	verdict   bool
	opened    bool
	edited    bool // something below differs from text and at
	replaced  bool // text and at are not what stood here at first
	reshaped  bool // items were inserted or removed
	gone      bool // this or the value that held it was removed
	fixed     bool // part of the original tree
	lent      bool // the caller holds kids
	duplicate bool // the object names a member twice
}

// manyMembers is the number of members from which an object gets a map. Below, comparing is faster than hashing.
const manyMembers = 24

// Kind returns the kind of the value, Invalid for an absent one.
func (n *Node) Kind() Kind {
	if n == nil {
		return Invalid
	}
	return n.text.entries[n.at].kind
}

// Get returns the member of an object, or nil. Of duplicate keys it returns the last; see Document.Err.
func (n *Node) Get(key string) *Node {
	if n.Kind() != Object {
		return nil
	}
	if k := n.member(key); k != nil && !k.gone {
		return k
	}
	return nil
}

// Find is Get after Get.
func (n *Node) Find(keys ...string) *Node {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// Members ranges over the members of an object in their order; new ones come last. The object may be edited
// meanwhile.
func (n *Node) Members() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n.Kind() != Object {
			return
		}
		n.open()
		for _, k := range n.kids {
			if !k.gone && !yield(k.key(), k) {
				return
			}
		}
	}
}

// Items returns the items of an array. The list is not changed by edits and must not be changed by the caller.
func (n *Node) Items() []*Node {
	if n.Kind() != Array {
		return nil
	}
	n.open()
	n.lent = true
	return n.kids
}

// Item returns the item at an index, or nil.
func (n *Node) Item(i int) *Node {
	if n.Kind() != Array {
		return nil
	}
	n.open()
	if i < 0 || i >= len(n.kids) {
		return nil
	}
	return n.kids[i]
}

// values ranges over the items of an array as they are now, without making nodes where there were no edits.
func (n *Node) values(yield func(*text, uint32) bool) {
	if n.edited {
		for _, k := range n.kids {
			if !yield(snapshot(k)) {
				return
			}
		}
		return
	}
	for i, end := n.at+1, n.text.entries[n.at].next; i < end; i = n.text.entries[i].next {
		if !yield(n.text, i) {
			return
		}
	}
}

// ItemWith returns the first item of an array that is an object whose member key is the string text, as in lists of
// Kubernetes that are keyed by name; nil if there is none.
func (n *Node) ItemWith(key, text string) *Node {
	if n.Kind() != Array {
		return nil
	}
	n.open()
	for _, item := range n.kids {
		if item.has(key, text) {
			return item
		}
	}
	return nil
}

// has is Get(key).Is(text), without making nodes where the key stands once.
func (n *Node) has(key, text string) bool {
	if n.opened || n.Kind() != Object {
		return n.Get(key).Is(text)
	}
	t, found := n.text, uint32(0)
	for c, end := n.at+1, t.entries[n.at].next; c < end; c = t.entries[c+1].next {
		if !t.stringIs(c, key) {
			continue
		}
		if found != 0 {
			return n.Get(key).Is(text)
		}
		found = c + 1
	}
	return found != 0 && t.entries[found].kind == String && t.stringIs(found, text)
}

// Index returns the position of an item in its array as it is now, -1 if the node is no item.
func (n *Node) Index() int {
	if n == nil || n.parent.Kind() != Array {
		return -1
	}
	return slices.Index(n.parent.kids, n)
}

// Len returns the number of items or members, 0 for other kinds.
func (n *Node) Len() int {
	kind := n.Kind()
	if kind != Array && kind != Object {
		return 0
	}
	if !n.opened {
		return n.text.count(n.at)
	}
	if kind == Array {
		return len(n.kids)
	}
	count := 0
	for _, k := range n.kids {
		if !k.gone {
			count++
		}
	}
	return count
}

// Text returns a decoded string; false for every other kind.
func (n *Node) Text() (string, bool) {
	if n.Kind() != String {
		return "", false
	}
	return n.text.stringAt(n.at), true
}

// Is reports whether the value is the string s. It allocates nothing.
func (n *Node) Is(s string) bool {
	return n.Kind() == String && n.text.stringIs(n.at, s)
}

// Raw returns the JSON of the value as it is now, which must not be modified; nil for an absent one.
func (n *Node) Raw() []byte {
	if n == nil {
		return nil
	}
	if !n.edited {
		return n.text.bytesAt(n.at)
	}
	return n.appendTo(nil)
}

// key returns the name of a member.
func (n *Node) key() string {
	if n.was != 0 {
		return n.parent.text.stringAt(n.was - 1)
	}
	return n.name
}

// member returns the member of an object, be it gone or not.
func (n *Node) member(key string) *Node {
	n.open()
	if n.byKey != nil {
		return n.byKey[key]
	}
	for _, k := range slices.Backward(n.kids) {
		if k.was == 0 && k.name == key || k.was != 0 && n.text.stringIs(k.was-1, key) {
			return k
		}
	}
	return nil
}

// alive reports whether the place is still part of its tree.
func (n *Node) alive() bool {
	for ; n != nil; n = n.parent {
		if n.gone {
			return false
		}
	}
	return true
}

// open makes the nodes of the children.
func (n *Node) open() {
	if n.opened {
		return
	}
	n.opened = true
	count := n.text.count(n.at)
	if count == 0 {
		return
	}
	nodes, width := n.doc.room.nodes.take(count), n.text.width(n.at)
	n.kids = n.doc.room.lists.take(count + 1)[:count] // One more can come without a list of its own.
	for i, c := 0, n.at+1; i < count; i++ {
		k := &nodes[i]
		k.doc, k.parent, k.text, k.fixed = n.doc, n, n.text, n.fixed
		k.at, k.was = c+width, c+width
		n.kids[i] = k
		c = n.text.entries[k.at].next
	}
	if width != 0 {
		n.checkKeys()
	}
}

// checkKeys looks for duplicate keys, and maps the members if they are many.
func (n *Node) checkKeys() {
	if len(n.kids) > manyMembers {
		n.mapMembers()
		n.duplicate = len(n.byKey) < len(n.kids)
	} else {
		n.compareKeys()
	}
	if n.duplicate {
		n.doc.report(n)
	}
}

// compareKeys compares keys with those before them, most of which differ from all at a glance: in their length and their last two bytes.
func (n *Node) compareKeys() {
	var seen uint64
	glances := true // not of keys with escapes, and none that stand behind one
	for i, k := range n.kids {
		e := &n.text.entries[k.was-1]
		glances = glances && e.plain
		look := e.end - e.start + 5*uint32(n.text.raw[e.end-2])
		if e.end-e.start > 2 { // else what stands before the quotes would count
			look += 17 * uint32(n.text.raw[e.end-3])
		}
		glance := uint64(1) << (look % 64)
		if !glances || seen&glance != 0 {
			for _, other := range n.kids[:i] {
				n.duplicate = n.duplicate || sameString(n.text, k.was-1, n.text, other.was-1)
			}
		}
		seen |= glance
	}
}

func (n *Node) mapMembers() {
	n.byKey = make(map[string]*Node, len(n.kids))
	for _, k := range n.kids {
		n.byKey[k.key()] = k
	}
}
