// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "sync"

// room is the memory that a document and its sub-documents take while they are used: the index, nodes and lists of
// children, the values that edits bring in, and the parts of command lines and units in it. A document that is
// released leaves it to the next one.
type room struct {
	entries   []entry
	index     slab[entry] // of short values
	documents slab[Document]
	texts     slab[text]
	nodes     slab[Node]
	lists     slab[*Node]
	tokens    slab[token]
	flags     slab[flag]
	words     slab[word]
	lines     slab[unitLine]
	bytes     scratch
}

// scratch hands out bytes, for texts that are written or decoded on the way. A room that is used again has as many in one piece as
// were taken before.
type scratch struct {
	buffer       []byte
	taken, total int
}

// take returns an empty list that can grow to n bytes.
func (s *scratch) take(n int) []byte {
	if len(s.buffer)-s.taken < n {
		s.buffer, s.taken = make([]byte, n), 0
	}
	out := s.buffer[s.taken : s.taken : s.taken+n]
	s.taken += n
	s.total += n
	return out
}

// reset takes everything back.
func (s *scratch) reset() {
	if s.total > len(s.buffer) && s.total <= maxScratch {
		s.buffer = make([]byte, s.total+s.total/8)
	} else {
		clear(s.buffer[:s.taken])
	}
	s.taken, s.total = 0, 0
}

// slab hands its items out in pieces. When it is full it is replaced by a bigger one.
type slab[T any] struct {
	items []T
	taken int
}

// take returns n items that are zero.
func (s *slab[T]) take(n int) []T {
	const smallest, largest = 4, 1024
	if len(s.items)-s.taken < n {
		s.items, s.taken = make([]T, max(n, smallest, min(4*len(s.items), largest))), 0
	}
	out := s.items[s.taken : s.taken+n : s.taken+n]
	s.taken += n
	return out
}

// list returns an empty list that can grow to n items: the one that was, if it can, or a new one, with some more room so
// that it will do for the next edit, too.
func (s *slab[T]) list(was []T, n int) []T {
	if n <= cap(was) {
		return was[:0]
	}
	return s.take(n + n/8 + 2)[:0]
}

// reset takes everything back.
func (s *slab[T]) reset() {
	clear(s.items[:s.taken])
	s.taken = 0
}

// What is kept for the next document: neither the room of a short text, which would be taken for a long one and grow
// anew, nor more entries (16 bytes each), nodes and parts of texts (some 100 bytes each) than these.
const (
	minPooled      = 1 << 7
	maxPooled      = 1 << 18
	maxPooledNodes = 1 << 14
	maxScratch     = 1 << 18
)

var rooms = sync.Pool{New: func() any { return new(room) }}

// entriesIn estimates how many entries a text of the given length has.
func entriesIn(length int) int { return length/12 + 16 }

// takeRoom returns an empty room, whose index can hold that of a text of the given length.
func takeRoom(length int) *room {
	want := entriesIn(length)
	if want < minPooled {
		return &room{entries: make([]entry, 0, want)}
	}
	r := rooms.Get().(*room)
	if cap(r.entries) < want {
		r.entries = make([]entry, 0, want)
	}
	return r
}

// leave gives the room to the next document, with the index as long as it has become.
func (r *room) leave(entries []entry) {
	biggest := max(len(r.index.items), len(r.nodes.items), len(r.lists.items), len(r.tokens.items), len(r.flags.items),
		len(r.words.items), len(r.lines.items))
	if cap(entries) < minPooled || cap(entries) > maxPooled || biggest > maxPooledNodes || len(r.bytes.buffer) > maxScratch {
		return
	}
	r.entries = entries[:0]
	r.index.reset()
	r.documents.reset()
	r.texts.reset()
	r.nodes.reset()
	r.lists.reset()
	r.tokens.reset()
	r.flags.reset()
	r.words.reset()
	r.lines.reset()
	r.bytes.reset()
	rooms.Put(r)
}
