// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"math"
	"strings"
)

// entry is one value of a text. Members of an object stand as two entries, key and value; items and members follow
// their container directly, and a value and all it holds are the entries up to next.
type entry struct {
	start, end uint32 // bytes in the text, quotes and braces included
	next       uint32
	kind       Kind
	plain      bool // a string of ASCII characters without escapes
}

// text is JSON with its index. A text grows at its end only, so that entries and bytes handed out stay valid.
type text struct {
	raw     []byte
	entries []entry
}

// bytesAt returns the JSON of an entry.
func (t *text) bytesAt(at uint32) []byte {
	e := &t.entries[at]
	return t.raw[e.start:e.end:e.end]
}

// stringAt decodes a string entry.
func (t *text) stringAt(at uint32) string {
	e := &t.entries[at]
	body := t.raw[e.start+1 : e.end-1]
	if e.plain {
		return string(body)
	}
	return unquote(body)
}

// textAt is stringAt without a copy of what is plain.
func (t *text) textAt(at uint32) []byte {
	e := &t.entries[at]
	body := t.raw[e.start+1 : e.end-1 : e.end-1]
	if e.plain {
		return body
	}
	return []byte(unquote(body))
}

// writeString writes a string entry, decoded.
func (t *text) writeString(to *strings.Builder, at uint32) {
	e := &t.entries[at]
	body := t.raw[e.start+1 : e.end-1]
	if e.plain {
		to.Write(body)
	} else {
		to.WriteString(unquote(body))
	}
}

// stringIs compares a string entry with s, without decoding it if it is plain.
func (t *text) stringIs(at uint32, s string) bool {
	e := &t.entries[at]
	body := t.raw[e.start+1 : e.end-1]
	if e.plain {
		return string(body) == s
	}
	return unquote(body) == s
}

// sameString compares two string entries. Keys of one object often begin alike and seldom end alike, hence the look at
// the last bytes.
func sameString(a *text, i uint32, b *text, j uint32) bool {
	x, y := &a.entries[i], &b.entries[j]
	if !x.plain || !y.plain {
		return sameUnquoted(a.raw[x.start+1:x.end-1], b.raw[y.start+1:y.end-1])
	}
	length := x.end - x.start
	return length == y.end-y.start && (length < 3 || a.raw[x.end-2] == b.raw[y.end-2]) &&
		bytes.Equal(a.raw[x.start:x.end], b.raw[y.start:y.end])
}

// count returns the number of items or members of a container.
func (t *text) count(at uint32) int {
	n, width := 0, t.width(at)
	for c, end := at+1, t.entries[at].next; c < end; n++ {
		c = t.entries[c+width].next
	}
	return n
}

// width is the number of entries that stand before the value of a child: 1 in an object, for its key.
func (t *text) width(at uint32) uint32 {
	if t.entries[at].kind == Object {
		return 1
	}
	return 0
}

// add appends a copy of raw and indexes it; the text is unchanged if raw is not valid.
func (t *text) add(raw []byte) (uint32, error) {
	if len(t.raw)+len(raw) > math.MaxUint32 {
		return 0, ErrTooLarge
	}
	from, at := len(t.raw), len(t.entries)
	t.raw = append(t.raw, raw...)
	if err := t.scan(from); err != nil {
		t.cut(from, at)
		return 0, err
	}
	return uint32(at), nil
}

// cut takes back what add appended, as long as nobody was given a part of it.
func (t *text) cut(length, entries int) {
	t.raw, t.entries = t.raw[:length], t.entries[:entries]
}
