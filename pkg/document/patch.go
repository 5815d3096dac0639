// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
)

// Patch returns the net change as the JSON of an RFC 6902 patch; nil if nothing changed. It visits only edited places. The
// patch must not be used after Release.
func (d *Document) Patch() []byte {
	if d == nil || !d.root.edited && !d.root.replaced {
		return nil
	}
	p := patcher{path: make([]byte, 0, 64), out: d.arena.bytes.take(len(d.added.raw) + 512)[:0]}
	p.place(&d.root)
	if len(p.out) == 0 {
		return nil
	}
	return append(p.out, ']')
}

// patcher writes operations. Path is the pointer of the visited place.
type patcher struct {
	path, out []byte
}

// emit writes an operation on the visited place; value is nil for a removal.
func (p *patcher) emit(op string, value []byte) {
	separator := byte(',')
	if len(p.out) == 0 {
		separator = '['
	}
	p.out = append(append(p.out, separator), `{"op":"`...)
	p.out = append(append(p.out, op...), `","path":`...)
	p.out = appendQuoted(p.out, p.path)
	if value != nil {
		p.out = append(append(p.out, `,"value":`...), value...)
	}
	p.out = append(p.out, '}')
}

// place compares an original place with its current value. A value that was replaced is replaced as a whole.
func (p *patcher) place(n *Node) {
	switch {
	case n.replaced:
		if n.differs() {
			p.emit("replace", n.Raw())
		}
	case !n.edited:
	case n.Kind() == Object:
		p.members(n)
	case !n.reshaped || n.itemsDiffer():
		p.items(n)
	}
}

func (p *patcher) members(n *Node) {
	length := len(p.path)
	for _, k := range n.kids {
		if k.was == 0 && k.gone || k.was != 0 && !k.touched() {
			continue
		}
		p.path = appendToken(p.path[:length], k.key())
		switch {
		case k.was == 0:
			p.emit("add", k.Raw())
		case k.gone:
			p.emit("remove", nil)
		default:
			p.place(k)
		}
	}
	p.path = p.path[:length]
}

// items emits removals, highest index first, then insertions, lowest first, then changes inside of items. A new item
// behind the same item as a removed one replaces it.
func (p *patcher) items(n *Node) {
	length := len(p.path)
	at := func(i int) { p.path = appendIndex(p.path[:length], i) }
	was, from := n.text.itemsOf(n.at), make([]int, len(n.kids)) // the index of each item in was, or -1
	kept := make([]bool, len(was))
	for i, k := range n.kids {
		if from[i] = slices.Index(was, k.was); from[i] >= 0 {
			kept[from[i]] = true
		}
	}
	free := 0
	for i := range from {
		if from[i] < 0 && free < len(was) && !kept[free] {
			from[i], kept[free] = free, true
		}
		if from[i] >= 0 {
			free = from[i] + 1
		}
	}
	for i := range slices.Backward(kept) {
		if !kept[i] {
			at(i)
			p.emit("remove", nil)
		}
	}
	for i, k := range n.kids {
		if from[i] < 0 {
			at(i)
			p.emit("add", k.Raw())
		}
	}
	for i, k := range n.kids {
		at(i)
		switch {
		case k.was != 0:
			p.place(k)
		case from[i] >= 0:
			if now, j := snapshot(k); !equal(n.text, was[from[i]], now, j) {
				p.emit("replace", k.Raw())
			}
		}
	}
	p.path = p.path[:length]
}

// itemsOf returns the entries of the items of an array.
func (t *indexedText) itemsOf(at uint32) []uint32 {
	out := make([]uint32, 0, t.count(at))
	for c, end := at+1, t.entries[at].next; c < end; c = t.entries[c].next {
		out = append(out, c)
	}
	return out
}
