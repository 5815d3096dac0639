// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

// appendTo appends the JSON of the place as it is now. What was not edited is copied with the white space around it.
func (n *Node) appendTo(dst []byte) []byte {
	if n.replaced {
		if t, at := n.origin(); !n.differs() {
			return append(dst, t.bytesAt(at)...)
		}
	}
	return n.appendNow(dst)
}

// AppendText is Text behind what dst has.
func (n *Node) AppendText(dst []byte) ([]byte, bool) {
	if n.Kind() != String {
		return dst, false
	}
	return append(dst, n.text.textAt(n.at)...), true
}

// Around returns the JSON of a place before and behind a place within it, as both came. Neither may have been edited.
func (n *Node) Around(within *Node) (before, behind []byte) {
	all, left := &n.text.entries[n.at], &n.text.entries[within.at]
	return n.text.raw[all.start:left.start:left.start], n.text.raw[left.end:all.end:all.end]
}

// appendNow is appendTo without asking whether all edits together are none.
func (n *Node) appendNow(dst []byte) []byte {
	if !n.edited || !n.differsBelow() {
		return append(dst, n.text.bytesAt(n.at)...)
	}
	w := writer{node: n, dst: dst}
	if n.Kind() == Object {
		return w.write('{', '}')
	}
	return w.write('[', ']')
}

// writer writes one container whose children changed.
type writer struct {
	node  *Node
	dst   []byte
	lead  []byte // white space before a new child, as before the last one that was there
	colon []byte // what stands between key and value
	some  bool
}

func (w *writer) write(opening, closing byte) []byte {
	w.dst = append(w.dst, opening)
	t, at := w.node.text, w.node.at
	w.colon = []byte(":")
	if t.entries[at].next > at+1 {
		w.style(at + 1)
	}
	for _, k := range w.node.kids {
		if k.gone {
			continue
		}
		if w.some {
			w.dst = append(w.dst, ',')
		}
		w.some = true
		if k.was != 0 {
			w.known(k)
		} else {
			w.fresh(k)
		}
	}
	if w.some || t.entries[at].next == at+1 {
		w.dst = append(w.dst, t.spaceBefore(t.entries[at].end-1)...)
	}
	return append(w.dst, closing)
}

// style takes the white space around the child that begins with an entry.
func (w *writer) style(first uint32) {
	t := w.node.text
	w.lead = t.spaceBefore(t.entries[first].start)
	if t.width(w.node.at) != 0 {
		w.colon = t.raw[t.entries[first].end:t.entries[first+1].start]
	}
}

// known writes a child that was there at first, with the white space around it.
func (w *writer) known(k *Node) {
	t := w.node.text
	first := k.was - t.width(w.node.at)
	w.style(first)
	w.dst = append(w.dst, w.lead...)
	w.dst = append(w.dst, t.raw[t.entries[first].start:t.entries[k.was].start]...)
	w.dst = k.appendTo(w.dst)
	w.dst = append(w.dst, t.spaceAfter(t.entries[k.was].end)...)
}

// fresh writes a new child in the style of those around it.
func (w *writer) fresh(k *Node) {
	w.dst = append(w.dst, w.lead...)
	if w.node.Kind() == Object {
		w.dst = appendQuoted(w.dst, k.name)
		w.dst = append(w.dst, w.colon...)
	}
	w.dst = k.appendTo(w.dst)
}

// spaceBefore returns the white space that ends at an offset.
func (t *text) spaceBefore(end uint32) []byte {
	start := end
	for isSpace(t.raw[start-1]) {
		start--
	}
	return t.raw[start:end]
}

// spaceAfter returns the white space from an offset to the next comma. That before a closing brace belongs to the
// brace.
func (t *text) spaceAfter(start uint32) []byte {
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
