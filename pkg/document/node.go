// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package document parses a JSON text once and records edits of it as an RFC 6902 patch.
//
// Parse makes one validating pass and creates a flat index of every value: its start, its end and the start of the next
// one. Navigation uses the index and never scans again; a Node is created only for visited values. Edits are stored in
// an overlay of these nodes, and the patch is derived from the overlay at the end: a replaced value is one operation that
// replaces it as a whole. Unedited parts are neither decoded nor encoded, so that unknown fields, the order of members and
// the notation of numbers are preserved.
//
// ContentOf reads and edits the inline content of a file, which may be encoded. Command lines and systemd units have
// packages of their own in pkg/format.
//
// The package does not know kinds of Kubernetes, decodes into no Go types and never computes the difference of two
// whole documents. It imports only the standard library, and the steps of paths from fieldpath. A Document is not safe
// for concurrent use, not even for reading, because nodes are created lazily.
//
// Start reading at Parse, Document.Root and Document.Patch.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// origin returns the original value of the place; a nil text for a new place.
func (n *Node) origin() (*indexedText, uint32) {
	switch {
	case n.parent == nil:
		return n.doc.text, n.doc.base
	case n.was != 0:
		return n.parent.text, n.was
	default:
		return nil, 0
	}
}

// report keeps the first problem of the navigation.
func (d *Document) report(n *Node) {
	if d.err == nil {
		d.err = fmt.Errorf("reading the object at %q: %w", n.appendPointer(nil), ErrDuplicateKey)
	}
}

// Node is a place in the tree. A nil Node is a missing value; every method that reads is safe on it.
type Node struct {
	doc    *Document
	parent *Node
	text   *indexedText // text and at: the value that edits of children refer to
	at     uint32
	was    uint32           // entry of the original value in the parent's text; 0 for a new one and for a root
	name   string           // key of a new member
	kids   []*Node          // the children, made when the node is opened; members that were removed stay as gone
	byKey  map[string]*Node // of an object with many members

	judged    int // version of the document, plus 1, at which verdict was computed; see differs
	verdict   bool
	opened    bool
	edited    bool // something below differs from text and at
	replaced  bool // text and at are not the original value
	reshaped  bool // items were inserted or removed
	gone      bool // this or the value that held it was removed
	fixed     bool // part of the original tree
	lent      bool // the caller holds kids
	duplicate bool // the object names a member twice
}

// manyMembers is the number of members from which an object gets a map. For fewer, comparing is faster than hashing.
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

// Find calls Get for each key in turn.
func (n *Node) Find(keys ...string) *Node {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// Members iterates over the members of an object in their order; new ones come last. The object may be edited during
// the iteration.
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

// Items returns the items of an array. Edits do not change the list, and callers must not.
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

// Texts iterates over the items of an array: the text of a string, and the kind of each item. It makes one copy of all
// plain strings that edits left, and no nodes.
func (n *Node) Texts() iter.Seq2[string, Kind] {
	return func(yield func(string, Kind) bool) {
		list := n.text.entries[n.at]
		whole := string(n.text.bytesAt(n.at))
		item := func(t *indexedText, at uint32) bool {
			s, e := "", &t.entries[at]
			if e.plain && t == n.text && e.start > list.start && e.end < list.end {
				s = whole[e.start-list.start+1 : e.end-list.start-1]
			} else if e.kind == String {
				s = t.stringAt(at)
			}
			return yield(s, e.kind)
		}
		if n.edited {
			for _, k := range n.kids {
				if !item(k.text, k.at) {
					return
				}
			}
			return
		}
		for at := n.at + 1; at < list.next; at = n.text.entries[at].next {
			if !item(n.text, at) {
				return
			}
		}
	}
}

// Version grows with every edit of the document.
func (n *Node) Version() int { return n.doc.version }

// ItemWith returns the first object in an array with the string text in its member key, as in lists of Kubernetes that
// are keyed by name, or nil.
func (n *Node) ItemWith(key, text string) *Node {
	if n.Kind() != Array {
		return nil
	}
	n.open()
	for _, item := range n.kids {
		if item.Get(key).Is(text) {
			return item
		}
	}
	return nil
}

// Index returns the current position of an item in its array, or -1 if the node is not an item.
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

// Edited reports whether an edit was made below the value, even if others cancel it. Raw then makes a new text.
func (n *Node) Edited() bool { return n != nil && n.edited }

// Raw returns the JSON of the current value, which must not be modified; nil for an absent one.
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

// member returns the member of an object, even if it was removed.
func (n *Node) member(key string) *Node {
	n.open()
	if n.byKey != nil {
		return n.byKey[key]
	}
	for i := len(n.kids) - 1; i >= 0; i-- { // faster than slices.Backward
		k := n.kids[i]
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
	if n.text.entries[n.at].deferred {
		n.text, n.at = reparse(n.text.bytesAt(n.at)), 0
	}
	count := n.text.count(n.at)
	if count == 0 {
		return
	}
	nodes, width := n.doc.arena.nodes.take(count), n.text.width(n.at)
	n.kids = n.doc.arena.lists.take(count + 1)[:count] // One more can come without a list of its own.
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
		seen := uint64(0) // the signatures of the keys so far
		for i, k := range n.kids {
			signature := n.text.signature(k.was - 1)
			if seen&signature != 0 {
				for _, other := range n.kids[:i] {
					n.duplicate = n.duplicate || sameString(n.text, k.was-1, n.text, other.was-1)
				}
			}
			seen |= signature
		}
	}
	if n.duplicate {
		n.doc.report(n)
	}
}

func (n *Node) mapMembers() {
	n.byKey = make(map[string]*Node, len(n.kids))
	for _, k := range n.kids {
		n.byKey[k.key()] = k
	}
}

// Document is a JSON text with its edits.
type Document struct {
	text     *indexedText
	base     uint32 // the entry in text that the document is
	part     bool   // text holds more than this document
	whole    bool   // the document that was parsed, which can be released
	arena    *arena
	added    indexedText // values that edits added, one after the other
	root     Node
	original *Node
	version  int // grows with every edit
	removals int // counts edits that remove or replace a value
	err      error
}

// Parse checks raw with one pass and indexes it. The document keeps raw, which must not change as long as the
// document is used. The error is ErrSyntax, ErrTooDeep or ErrTooLarge with the offset in bytes.
func Parse(raw []byte) (*Document, error) { return ParseDeferring(raw, "") }

// ParseDeferring works like Parse, but does not index objects at the second level whose key ends with key: it only checks
// them. They are indexed when a member is first read. Before that, Len and Equal see no members. They must not be edited.
func ParseDeferring(raw []byte, key string) (*Document, error) {
	if len(raw) > math.MaxUint32 {
		return nil, ErrTooLarge
	}
	arena := takeArena(len(raw))
	t := &indexedText{raw: raw, entries: arena.entries}
	err := t.scan(0, key)
	d := new(Document)
	d.init(t, 0, arena)
	d.whole = true
	if err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// Document returns the current value of the node as a separate document with pointers relative to the node, or nil for
// a missing place. It does not scan an unedited value again. Neither document reflects edits of the other, but they
// share buffers, so that they must not be used concurrently.
func (n *Node) Document() *Document {
	if n == nil {
		return nil
	}
	if n.edited || n.text == &n.doc.added {
		t, at := snapshot(n)
		if t == &n.doc.added {
			t, at = reparse(bytes.Clone(n.Raw())), 0
		}
		return newDocument(t, at, n.doc.arena)
	}
	d := newDocument(n.text, n.at, n.doc.arena)
	d.part = true
	return d
}

// newDocument returns a document that uses the buffers of an earlier document.
func newDocument(t *indexedText, base uint32, arena *arena) *Document {
	d := &arena.documents.take(1)[0]
	d.init(t, base, arena)
	return d
}

func (d *Document) init(t *indexedText, base uint32, arena *arena) {
	d.text, d.base, d.arena = t, base, arena
	d.root.doc, d.root.text, d.root.at = d, t, base
}

// Root returns the current tree, with the edits.
func (d *Document) Root() *Node {
	if d == nil {
		return nil
	}
	return &d.root
}

// Original returns the tree before all edits. It is read only.
func (d *Document) Original() *Node {
	if d == nil {
		return nil
	}
	if d.original == nil {
		d.original = &d.arena.nodes.take(1)[0]
		d.original.doc, d.original.text, d.original.at, d.original.fixed = d, d.text, d.base, true
	}
	return d.original
}

// Err returns ErrDuplicateKey, with the pointer of the object, if a visited object contains a member twice. Other
// objects are not checked.
func (d *Document) Err() error {
	if d == nil {
		return nil
	}
	return d.err
}

// Changed reports whether the document differs from the original. Edits that cancel each other are not a change.
func (d *Document) Changed() bool {
	return d != nil && d.root.differs()
}

// Edits returns the number of edits so far, including those that cancel each other. Writing an equal value is not an
// edit.
func (d *Document) Edits() int {
	if d == nil {
		return 0
	}
	return d.version
}

// Removals returns the number of edits that removed or replaced a value. Additions alone are not counted.
func (d *Document) Removals() int { return d.removals }

// Bytes returns the document with its edits. Unedited parts stay byte for byte; without any change it returns the
// parsed bytes, which must not be modified.
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

// add indexes a copy of a value that an edit adds. It fails for invalid JSON.
func (d *Document) add(raw []byte) (uint32, error) {
	if d.added.raw == nil {
		d.added, d.arena.spare = d.arena.spare, indexedText{}
	}
	at, err := d.added.add(raw)
	d.arena.used = d.added
	return at, err
}

// Release returns the index, the nodes and the values that edits added to the pool for the next Parse. The document, its
// nodes, the bytes of nodes, and sub-documents must not be used afterwards. Strings and the results of Bytes stay
// valid. Calling Release is optional.
func (d *Document) Release() {
	if d == nil || !d.whole {
		return
	}
	arena, entries := d.arena, d.text.entries
	*d.text = indexedText{}
	*d = Document{}
	arena.recycle(entries)
}

// appendToken appends one reference token of RFC 6901 with its slash.
func appendToken(dst []byte, key string) []byte {
	dst = append(dst, '/')
	for i := range len(key) {
		switch key[i] {
		case '~':
			dst = append(dst, '~', '0')
		case '/':
			dst = append(dst, '~', '1')
		default:
			dst = append(dst, key[i])
		}
	}
	return dst
}

func appendIndex(dst []byte, i int) []byte {
	return strconv.AppendInt(append(dst, '/'), int64(i), 10)
}

func (n *Node) appendPointer(dst []byte) []byte {
	if n.parent == nil {
		return dst
	}
	dst = n.parent.appendPointer(dst)
	if n.parent.Kind() == Object {
		return appendToken(dst, n.key())
	}
	return appendIndex(dst, n.Index())
}

// Value decodes the current value: map[string]any, []any, string, bool or nil. A number is an int64 if it is an integer
// that fits, a float64 if it has at most 15 digits, which a float64 represents exactly, and otherwise a json.Number. Of
// duplicate keys the last one counts. A missing value is nil.
func (n *Node) Value() any {
	switch n.Kind() {
	case Object:
		out := make(map[string]any, n.Len())
		for key, member := range n.Members() {
			out[key] = member.Value()
		}
		return out
	case Array:
		items := n.Items()
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = item.Value()
		}
		return out
	case String:
		s, _ := n.Text()
		return s
	case Number:
		return number(string(n.Raw()))
	case Bool:
		return n.Raw()[0] == 't'
	default:
		return nil
	}
}

// number decodes a checked JSON number without loss.
func number(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
		return i
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	const smallestNormal = 0x1p-1022
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || len(digits) > 15 || digits != "" && math.Abs(f) < smallestNormal {
		return json.Number(s)
	}
	return f
}

// Equal reports whether two values are the same as JSON: objects without regard to order, numbers as written. An absent
// value is the same as another absent one.
func (n *Node) Equal(other *Node) bool {
	if n == nil || other == nil {
		return n == other
	}
	a, i := snapshot(n)
	b, j := snapshot(other)
	return equal(a, i, b, j)
}

// equal compares two values: objects without regard to order, strings decoded, numbers as written.
func equal(a *indexedText, i uint32, b *indexedText, j uint32) bool {
	kind := a.entries[i].kind
	if kind != b.entries[j].kind {
		return false
	}
	if a == b && i == j || bytes.Equal(a.bytesAt(i), b.bytesAt(j)) {
		return true
	}
	switch kind {
	case String:
		return sameString(a, i, b, j)
	case Array:
		return equalItems(a, i, b, j)
	case Object:
		return equalMembers(a, i, b, j)
	default:
		return false
	}
}

func equalItems(a *indexedText, i uint32, b *indexedText, j uint32) bool {
	endA, endB := a.entries[i].next, b.entries[j].next
	for i, j = i+1, j+1; i < endA && j < endB; i, j = a.entries[i].next, b.entries[j].next {
		if !equal(a, i, b, j) {
			return false
		}
	}
	return i >= endA && j >= endB
}

// equalMembers compares two objects in step as long as their keys have the same order, and then by key. Each pair of
// values is compared once, since comparing twice at every level would take forever in a deep value. Objects with
// duplicate keys can count as different although their last values are equal.
func equalMembers(a *indexedText, i uint32, b *indexedText, j uint32) bool {
	x, y, endA, endB := i+1, j+1, a.entries[i].next, b.entries[j].next
	for ; x < endA && y < endB && sameString(a, x, b, y); x, y = a.entries[x+1].next, b.entries[y+1].next {
		if !equal(a, x+1, b, y+1) {
			return false
		}
	}
	if x >= endA || y >= endB {
		return x >= endA && y >= endB
	}
	rest := map[string]uint32{}
	for ; y < endB; y = b.entries[y+1].next {
		key := b.stringAt(y)
		if rest[key] != 0 {
			return false
		}
		rest[key] = y + 1
	}
	for ; x < endA; x = a.entries[x+1].next {
		key := a.stringAt(x)
		if y := rest[key]; y == 0 || !equal(a, x+1, b, y) {
			return false
		}
		delete(rest, key)
	}
	return len(rest) == 0
}

// snapshot returns the current value of a place as an entry of a text.
func snapshot(n *Node) (*indexedText, uint32) {
	if !n.edited {
		return n.text, n.at
	}
	return reparse(n.appendNow(make([]byte, 0, len(n.text.bytesAt(n.at))+64))), 0
}

// reparse indexes JSON that this package wrote itself. It can nest deeper than MaxDepth, when deep values were put
// into deep places; that is no reason to refuse it.
func reparse(raw []byte) *indexedText {
	s := scanner{raw: raw, entries: make([]indexEntry, 0, entriesIn(len(raw))), unbounded: true}
	s.value(0, 0)
	return &indexedText{raw: raw, entries: s.entries}
}

// differs reports whether the place differs from its original value. It caches the result until the next edit:
// otherwise nested replaced values would be compared again at every level.
func (n *Node) differs() bool {
	if !n.replaced && !n.edited {
		return false
	}
	if now := n.doc.version + 1; n.judged != now {
		n.verdict = n.judge()
		n.judged = now
	}
	return n.verdict
}

func (n *Node) judge() bool {
	if !n.replaced {
		return n.edited && n.differsBelow()
	}
	was, i := n.origin()
	now, j := snapshot(n)
	return !equal(was, i, now, j)
}

// differsBelow reports whether the children differ from those in text and at.
func (n *Node) differsBelow() bool {
	if n.reshaped {
		return n.itemsDiffer()
	}
	for _, k := range n.kids {
		if k.was == 0 && !k.gone || k.was != 0 && (k.gone || k.differs()) {
			return true
		}
	}
	return false
}

func (n *Node) itemsDiffer() bool {
	end, c := n.text.entries[n.at].next, n.at+1
	for _, k := range n.kids {
		if c >= end {
			return true
		}
		if k.was == c {
			if k.differs() {
				return true
			}
		} else if now, j := snapshot(k); !equal(n.text, c, now, j) {
			return true
		}
		c = n.text.entries[c].next
	}
	return c < end
}

// appendTo appends the current JSON of the place. Unedited parts are copied with the white space before them, and new
// children get that of the child before them.
func (n *Node) appendTo(dst []byte) []byte {
	if n.replaced {
		if t, at := n.origin(); !n.differs() {
			return append(dst, t.bytesAt(at)...)
		}
	}
	return n.appendNow(dst)
}

// appendNow works like appendTo without checking whether all edits cancel each other.
func (n *Node) appendNow(dst []byte) []byte {
	if !n.edited || !n.differsBelow() {
		return append(dst, n.text.bytesAt(n.at)...)
	}
	t, width := n.text, n.text.width(n.at)
	opening, closing := byte('['), byte(']')
	if n.Kind() == Object {
		opening, closing = '{', '}'
	}
	dst = append(dst, opening)
	lead, colon := []byte(nil), []byte(":") // the white space before a child, and the bytes between key and value
	style := func(first uint32) {
		lead = t.spaceBefore(t.entries[first].start)
		if width != 0 {
			colon = t.raw[t.entries[first].end:t.entries[first+1].start]
		}
	}
	end := t.entries[n.at].next
	if end > n.at+1 {
		style(n.at + 1)
	}
	some := false
	for _, k := range n.kids {
		if k.gone {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		if k.was != 0 {
			style(k.was - width)
		}
		dst = append(dst, lead...)
		switch {
		case width == 0:
		case k.was != 0:
			dst = append(append(dst, t.bytesAt(k.was-1)...), colon...)
		default:
			dst = append(appendQuoted(dst, k.name), colon...)
		}
		dst = k.appendTo(dst)
		if k.was != 0 {
			dst = append(dst, t.spaceAfter(t.entries[k.was].end)...)
		}
	}
	if some || end == n.at+1 {
		dst = append(dst, t.spaceBefore(t.entries[n.at].end-1)...)
	}
	return append(dst, closing)
}

// spaceBefore returns the white space that ends at an offset.
func (t *indexedText) spaceBefore(end uint32) []byte {
	start := end
	for isSpace(t.raw[start-1]) {
		start--
	}
	return t.raw[start:end]
}

// spaceAfter returns the white space from an offset to the next comma. White space before a closing brace belongs to
// the brace.
func (t *indexedText) spaceAfter(start uint32) []byte {
	end := start
	for isSpace(t.raw[end]) {
		end++
	}
	if t.raw[end] != ',' {
		return nil
	}
	return t.raw[start:end]
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r'
}
