// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"math"
)

// Document is a JSON text with its edits.
type Document struct {
	text    *text
	base    uint32 // the entry in text that the document is
	part    bool   // text holds more than this document
	whole   bool   // the document that was parsed, which can be released
	room    *room
	added   text // the values that edits brought in, one behind the other
	root    Node
	came    *Node
	version int // grows with every edit
	losses  int // grows with every edit that takes something away
	err     error
}

// Parse checks raw with one pass and indexes it. The document keeps raw, which must not change as long as the
// document is used. The error is ErrSyntax, ErrTooDeep or ErrTooLarge with the offset in bytes.
func Parse(raw []byte) (*Document, error) {
	if len(raw) > math.MaxUint32 {
		return nil, ErrTooLarge
	}
	room := takeRoom(len(raw))
	t := &text{raw: raw, entries: room.entries}
	err := t.scan(0)
	d := new(Document)
	d.init(t, 0, room)
	d.whole = true
	if err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// Parse is the function Parse for a value on its way into the document of the node. It is indexed in the room of that
// document, whose Release ends it.
func (n *Node) Parse(raw []byte) (*Document, error) {
	return n.doc.room.parse(raw)
}

func (r *room) parse(raw []byte) (*Document, error) {
	if len(raw) > math.MaxUint32 {
		return nil, ErrTooLarge
	}
	t := &r.texts.take(1)[0]
	t.raw, t.entries = raw, r.index.take(entriesIn(len(raw)))[:0]
	if err := t.scan(0); err != nil {
		return nil, err
	}
	return newDocument(t, 0, r), nil
}

// Document returns the value that stands at the node now as a document of its own, whose pointers begin at the node;
// nil for an absent place. A value without edits is not scanned again. Neither document sees edits of the other, but
// they share their room: they must not be used at the same time.
func (n *Node) Document() *Document {
	if n == nil {
		return nil
	}
	if n.edited || n.text == &n.doc.added {
		t, at := snapshot(n)
		if t == &n.doc.added {
			t, at = reparse(bytes.Clone(n.Raw())), 0
		}
		return newDocument(t, at, n.doc.room)
	}
	d := newDocument(n.text, n.at, n.doc.room)
	d.part = true
	return d
}

// newDocument returns a document in the room of another one.
func newDocument(t *text, base uint32, room *room) *Document {
	d := &room.documents.take(1)[0]
	d.init(t, base, room)
	return d
}

func (d *Document) init(t *text, base uint32, room *room) {
	d.text, d.base, d.room = t, base, room
	d.root.doc, d.root.text, d.root.at = d, t, base
}

// Root returns the tree as it is now, with the edits.
func (d *Document) Root() *Node {
	if d == nil {
		return nil
	}
	return &d.root
}

// Original returns the tree as it came. It is read only, and edits are not seen through it.
func (d *Document) Original() *Node {
	if d == nil {
		return nil
	}
	if d.came == nil {
		d.came = &d.room.nodes.take(1)[0]
		d.came.doc, d.came.text, d.came.at, d.came.fixed = d, d.text, d.base, true
	}
	return d.came
}

// CameText returns the string at a path of keys as it came; empty where there is none. It makes no nodes, and checks no keys.
func (d *Document) CameText(path ...string) string {
	if d == nil {
		return ""
	}
	at := d.base
	for _, key := range path {
		next := uint32(0)
		if e := &d.text.entries[at]; e.kind == Object {
			for c := at + 1; c < e.next; c = d.text.entries[c+1].next {
				if d.text.stringIs(c, key) {
					next = c + 1
				}
			}
		}
		if next == 0 {
			return ""
		}
		at = next
	}
	if d.text.entries[at].kind != String {
		return ""
	}
	return d.text.stringAt(at)
}

// Err returns ErrDuplicateKey, with the pointer of the object, once an object was navigated that names a member
// twice. Objects that nobody looks into are not checked.
func (d *Document) Err() error {
	if d == nil {
		return nil
	}
	return d.err
}

// Changed reports whether the document differs from what came. Edits that cancel each other are no change.
func (d *Document) Changed() bool {
	return d != nil && d.root.differs()
}

// Kept reports whether what stands at a path of keys now equals what came. It makes no nodes where nothing was edited.
func (d *Document) Kept(path ...string) bool {
	n := &d.root
	for _, key := range path {
		if !n.replaced && (!n.edited || n.Kind() != Object) {
			return true
		}
		var k *Node
		if !n.replaced {
			k = n.member(key)
		}
		if k == nil && !n.replaced {
			return true // It is not there, and was not: what was removed is a member still.
		}
		if k == nil || k.was == 0 || k.gone {
			return d.Original().Find(path...).Equal(d.root.Find(path...))
		}
		n = k
	}
	return !n.differs()
}

// Edits counts the edits made so far, also those that cancel each other. Writing what stands there already is no edit.
func (d *Document) Edits() int {
	if d == nil {
		return 0
	}
	return d.version
}

// Losses counts those of the edits that removed or replaced something. Additions alone are no loss.
func (d *Document) Losses() int {
	if d == nil {
		return 0
	}
	return d.losses
}

// Bytes returns the document with its edits. What was not edited stands in it byte for byte as it came; without any
// change the bytes are those that were parsed, which must not be modified.
func (d *Document) Bytes() []byte {
	if d == nil {
		return nil
	}
	e := d.text.entries[d.base]
	before, after := d.text.raw[:e.start], d.text.raw[e.end:]
	if d.part {
		before, after = nil, nil
	}
	if !d.Changed() {
		from, to := int(e.start)-len(before), int(e.end)+len(after)
		return d.text.raw[from:to:to]
	}
	out := make([]byte, 0, len(before)+int(e.end-e.start)+len(after)+len(d.added.raw)+64)
	out = d.root.appendTo(append(out, before...))
	return append(out, after...)
}

// Release gives the index and the nodes back for the next Parse. Neither the document nor a node or a sub-document of it may be
// used afterwards; bytes and strings that they returned stay valid. Calling Release is optional.
func (d *Document) Release() {
	if d == nil || !d.whole {
		return
	}
	room, entries := d.room, d.text.entries
	*d.text = text{}
	*d = Document{}
	room.leave(entries)
}
