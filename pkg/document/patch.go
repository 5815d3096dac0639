// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"sync"
)

// Patch returns the net change as the JSON of an RFC 6902 patch; nil if nothing changed. It visits only edited places.
// The patch must not be used after the document was released.
func (d *Document) Patch() []byte {
	if d == nil || !d.root.edited && !d.root.replaced {
		return nil
	}
	p := patchers.Get().(*patcher)
	defer p.leave()
	p.place(&d.root)
	if len(p.out) == 0 {
		return nil
	}
	p.out = append(p.out, ']')
	return append(d.arena.bytes.take(len(p.out)), p.out...)
}

// patcher writes operations. Path is the pointer of the visited place.
type patcher struct {
	path, out []byte
}

// patchers are used again.
var patchers = sync.Pool{New: func() any { return new(patcher) }}

// leave returns the empty patcher to the pool.
func (p *patcher) leave() {
	if cap(p.out) > maxScratch {
		return
	}
	clear(p.out)
	p.path, p.out = p.path[:0], p.out[:0]
	patchers.Put(p)
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

// under runs f with a longer path.
func (p *patcher) under(path []byte, f func()) {
	length := len(p.path)
	p.path = path
	f()
	p.path = p.path[:length]
}

func (p *patcher) key(key string, f func()) { p.under(appendToken(p.path, key), f) }

func (p *patcher) index(i int, f func()) { p.under(appendIndex(p.path, i), f) }

func (p *patcher) remove() { p.emit("remove", nil) }

func (p *patcher) add(value []byte) func() { return func() { p.emit("add", value) } }

func (p *patcher) write(value []byte) func() { return func() { p.emit("replace", value) } }

// place compares an original place with its current value.
func (p *patcher) place(n *Node) {
	switch {
	case n.replaced:
		was, i := n.origin()
		now, j := snapshot(n)
		p.values(was, i, now, j)
	case !n.edited:
	case n.Kind() == Object:
		p.members(n)
	case !n.reshaped:
		for i, k := range n.kids {
			if k.edited || k.replaced {
				p.index(i, func() { p.place(k) })
			}
		}
	case n.itemsDiffer():
		p.items(n)
	}
}

func (p *patcher) members(n *Node) {
	for _, k := range n.kids {
		switch {
		case k.was == 0 && k.gone:
		case k.was == 0:
			p.key(k.name, p.add(k.Raw()))
		case k.gone:
			p.key(k.key(), p.remove)
		case k.edited || k.replaced:
			p.key(k.key(), func() { p.place(k) })
		}
	}
}

// values compares two values as far as both are objects or both are arrays.
func (p *patcher) values(a *text, i uint32, b *text, j uint32) {
	if equal(a, i, b, j) {
		return
	}
	kind := a.entries[i].kind
	if kind == b.entries[j].kind && kind == Array {
		p.valueItems(a, i, b, j)
		return
	}
	if kind != b.entries[j].kind || kind != Object {
		p.emit("replace", b.bytesAt(j))
		return
	}
	left, right := a.members(i), b.members(j)
	if len(left) != a.count(i) || len(right) != b.count(j) {
		p.emit("replace", b.bytesAt(j))
		return
	}
	for c, end := i+1, a.entries[i].next; c < end; c = a.entries[c+1].next {
		if key := a.stringAt(c); right[key] == 0 {
			p.key(key, p.remove)
		}
	}
	for c, end := j+1, b.entries[j].next; c < end; c = b.entries[c+1].next {
		key := b.stringAt(c)
		if x := left[key]; x != 0 {
			p.key(key, func() { p.values(a, x, b, c+1) })
		} else {
			p.key(key, p.add(b.bytesAt(c+1)))
		}
	}
}

// slot is an item of the current array.
type slot struct {
	from int   // index of the item it was at first, -1 for a new one
	node *Node // the item, if it is one that was there
	text *text
	at   uint32
}

// items emits the change of an array with inserted and removed items.
func (p *patcher) items(n *Node) {
	if onlyGrown(n) {
		p.grown(n)
		return
	}
	was := n.text.itemsOf(n.at)
	slots := make([]slot, len(n.kids))
	from := 0
	for i, k := range n.kids {
		slots[i].from = -1
		if k.was == 0 {
			slots[i].text, slots[i].at = snapshot(k)
			continue
		}
		for was[from] != k.was {
			from++
		}
		slots[i].from, slots[i].node = from, k
	}
	p.list(n.text, was, slots)
}

// onlyGrown reports whether all items are there that were there at first.
func onlyGrown(n *Node) bool {
	left := n.text.count(n.at)
	for _, k := range n.kids {
		if k.was != 0 {
			left--
		}
	}
	return left == 0
}

// grown works like items for an array without removed items.
func (p *patcher) grown(n *Node) {
	for i, k := range n.kids {
		if k.was == 0 {
			t, at := snapshot(k)
			p.index(i, p.add(t.bytesAt(at)))
		}
	}
	for i, k := range n.kids {
		if k.was != 0 && (k.edited || k.replaced) {
			p.index(i, func() { p.place(k) })
		}
	}
}

// valueItems emits the change of an array that was replaced as a whole.
func (p *patcher) valueItems(a *text, i uint32, b *text, j uint32) {
	items := b.itemsOf(j)
	slots := make([]slot, len(items))
	for x, at := range items {
		slots[x] = slot{from: -1, text: b, at: at}
	}
	p.list(a, a.itemsOf(i), slots)
}

// list emits removals, highest index first, then insertions, lowest first, then changes inside of items. A removed and
// an inserted item between the same two neighbours are a replacement.
func (p *patcher) list(t *text, was []uint32, slots []slot) {
	kept := make([]bool, len(was))
	match(t, was, slots)
	for i := range slots {
		if slots[i].from >= 0 {
			kept[slots[i].from] = true
		}
	}
	written := pair(slots, kept)
	for i := range slices.Backward(kept) {
		if !kept[i] {
			p.index(i, p.remove)
		}
	}
	for i, s := range slots {
		if s.from < 0 {
			p.index(i, p.add(s.text.bytesAt(s.at)))
		}
	}
	for i, s := range slots {
		switch {
		case written[i]:
			p.index(i, p.write(s.text.bytesAt(s.at)))
		case s.node != nil && s.from >= 0:
			p.index(i, func() { p.place(s.node) })
		}
	}
}

// pair pairs new items with the removed ones that they replace in the same gap.
func pair(slots []slot, kept []bool) []bool {
	written := make([]bool, len(slots))
	free := 0
	for i := range slots {
		if slots[i].from >= 0 {
			free = slots[i].from + 1
			continue
		}
		if free < len(kept) && !kept[free] {
			slots[i].from, kept[free], written[i] = free, true, true
			free++
		}
	}
	return written
}

// match finds new items that equal removed ones in the same gap, so that they count as not moved.
func match(t *text, was []uint32, slots []slot) {
	low := 0
	for i := 0; i < len(slots); {
		if slots[i].from >= 0 {
			low = slots[i].from + 1
			i++
			continue
		}
		end, high := i, len(was)
		for end < len(slots) && slots[end].from < 0 {
			end++
		}
		if end < len(slots) {
			high = slots[end].from
		}
		matchGap(t, was[low:high], low, slots[i:end])
		i = end
	}
}

// matchGap aligns the equal head and tail of a gap, and the longest common sequence of the rest if that is small.
func matchGap(t *text, was []uint32, low int, slots []slot) {
	same := func(i, j int) bool { return equal(t, was[i], slots[j].text, slots[j].at) }
	head := 0
	for head < len(was) && head < len(slots) && same(head, head) {
		slots[head].from = low + head
		head++
	}
	was, slots, low = was[head:], slots[head:], low+head
	for len(was) > 0 && len(slots) > 0 && same(len(was)-1, len(slots)-1) {
		slots[len(slots)-1].from = low + len(was) - 1
		was, slots = was[:len(was)-1], slots[:len(slots)-1]
	}
	const small = 1 << 12
	if len(was)*len(slots) <= small {
		matchLongest(len(was), low, slots, same)
	}
}

// matchLongest finds the longest common sequence with the usual table.
func matchLongest(count, low int, slots []slot, same func(i, j int) bool) {
	if count == 0 || len(slots) == 0 {
		return
	}
	width := len(slots) + 1
	table := make([]int, (count+1)*width)
	for i := count - 1; i >= 0; i-- {
		for j := len(slots) - 1; j >= 0; j-- {
			if same(i, j) {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < count && j < len(slots); {
		here := table[i*width+j]
		switch {
		case table[(i+1)*width+j] == here:
			i++
		case table[i*width+j+1] == here:
			j++
		default:
			slots[j].from = low + i
			i, j = i+1, j+1
		}
	}
}

// members maps the keys of an object to the entries of the values; of duplicate keys the last wins.
func (t *text) members(at uint32) map[string]uint32 {
	out := make(map[string]uint32)
	for c, end := at+1, t.entries[at].next; c < end; c = t.entries[c+1].next {
		out[t.stringAt(c)] = c + 1
	}
	return out
}

// itemsOf returns the entries of the items of an array.
func (t *text) itemsOf(at uint32) []uint32 {
	out := make([]uint32, 0, t.count(at))
	for c, end := at+1, t.entries[at].next; c < end; c = t.entries[c].next {
		out = append(out, c)
	}
	return out
}
