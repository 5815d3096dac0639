// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "slices"

// slot is an item of an array as it is now.
type slot struct {
	from int   // index of the item it was at first, -1 for a new one
	node *Node // the item, if it is one that was there
	text *text
	at   uint32
}

// items emits the change of an array whose items were inserted and removed.
func (p *patcher) items(n *Node) {
	if n.onlyGrown() {
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
func (n *Node) onlyGrown() bool {
	left := n.text.count(n.at)
	for _, k := range n.kids {
		if k.was != 0 {
			left--
		}
	}
	return left == 0
}

// grown is items for an array that has lost none.
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

// list emits removals, highest index first, then insertions, lowest first, then what changed inside of items. Items
// that were removed and inserted between the same two neighbours are replacements.
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

// pair lets new items take the place of removed ones in the same gap, and tells which.
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

// itemsOf returns the entries of the items of an array.
func (t *text) itemsOf(at uint32) []uint32 {
	out := make([]uint32, 0, t.count(at))
	for c, end := at+1, t.entries[at].next; c < end; c = t.entries[c].next {
		out = append(out, c)
	}
	return out
}
