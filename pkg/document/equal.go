// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "bytes"

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
func equal(a *text, i uint32, b *text, j uint32) bool {
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

func equalItems(a *text, i uint32, b *text, j uint32) bool {
	endA, endB := a.entries[i].next, b.entries[j].next
	for i, j = i+1, j+1; i < endA && j < endB; i, j = a.entries[i].next, b.entries[j].next {
		if !equal(a, i, b, j) {
			return false
		}
	}
	return i >= endA && j >= endB
}

// equalMembers compares in step as long as both objects have the same order, and by their keys if they have not. Each pair
// of values is compared once, since comparing twice at every level would take forever in a deep value. Objects with
// duplicate keys can count as different although their last values are not.
func equalMembers(a *text, i uint32, b *text, j uint32) bool {
	endA, endB := a.entries[i].next, b.entries[j].next
	x, y := i+1, j+1
	for x < endA && y < endB && sameString(a, x, b, y) {
		if !equal(a, x+1, b, y+1) {
			return false
		}
		x, y = a.entries[x+1].next, b.entries[y+1].next
	}
	if x >= endA || y >= endB {
		return x >= endA && y >= endB
	}
	if b.count(j) <= manyMembers {
		return equalFew(a, x, endA, b, y, endB)
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

// equalFew compares the rest of the members of two objects of which the second has few, without a map. A member that was found is not found again.
func equalFew(a *text, x, endA uint32, b *text, y, endB uint32) bool {
	var found uint64
	left := 0
	for c := y; c < endB; c = b.entries[c+1].next {
		left++
	}
	for ; x < endA; x = a.entries[x+1].next {
		c, bit := y, uint64(1)
		for c < endB && !sameString(a, x, b, c) {
			c, bit = b.entries[c+1].next, bit<<1
		}
		if c >= endB || found&bit != 0 || !equal(a, x+1, b, c+1) {
			return false
		}
		found |= bit
		left--
	}
	return left == 0
}

// members maps the keys of an object to the entries of the values; of duplicate keys the last wins.
func (t *text) members(at uint32) map[string]uint32 {
	out := make(map[string]uint32)
	for c, end := at+1, t.entries[at].next; c < end; c = t.entries[c+1].next {
		out[t.stringAt(c)] = c + 1
	}
	return out
}

// snapshot returns the value of a place as it is now as an entry of a text.
func snapshot(n *Node) (*text, uint32) {
	if !n.edited {
		return n.text, n.at
	}
	return reparse(n.appendNow(nil)), 0
}

// reparse indexes JSON that this package wrote itself. It can nest deeper than MaxDepth, when deep values were put
// into deep places; that is no reason to refuse it.
func reparse(raw []byte) *text {
	t := &text{raw: raw}
	s := scanner{raw: raw, unbounded: true}
	s.value(0, 0)
	t.entries = s.entries
	return t
}

// differs reports whether the place differs from what stood there at first. It keeps the answer until the next edit:
// without that, values that were replaced inside of replaced ones would be compared again at every level.
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
