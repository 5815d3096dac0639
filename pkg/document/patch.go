// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "sync"

// Operation is one operation of an RFC 6902 patch. Op is "add", "remove" or "replace"; Value is raw JSON, nil for a
// removal, and must not be modified.
type Operation struct {
	Op, Path string
	Value    []byte
}

// Operations returns the net change, in the order in which it must be applied; nil if nothing changed. It looks at
// edited places only, and its values are no larger than what changed.
func (d *Document) Operations() []Operation {
	if d == nil {
		return nil
	}
	if !d.root.edited && !d.root.replaced {
		return nil
	}
	const usual = 16
	p := patcher{path: make([]byte, 0, 128), out: make([]Operation, 0, usual)}
	p.place(&d.root)
	if len(p.out) == 0 {
		return nil
	}
	return p.out
}

// Patch returns the net change as the JSON of an RFC 6902 patch; nil if nothing changed. It must not be used after the document was released.
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
	size := 2
	for _, o := range p.out {
		size += len(`{"op":"replace","path":"","value":},`) + len(o.Path) + len(o.Value)
	}
	out := append(d.room.bytes.take(size), '[')
	for i, o := range p.out {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"op":"`...), o.Op...), `","path":`...)
		out = appendQuoted(out, o.Path)
		if o.Value != nil {
			out = append(append(out, `,"value":`...), o.Value...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// patcher collects operations. Path is the pointer of the place that is looked at.
type patcher struct {
	path []byte
	out  []Operation
}

// patchers are used again.
var patchers = sync.Pool{New: func() any { return new(patcher) }}

// leave gives the patcher to the next patch, with nothing in it.
func (p *patcher) leave() {
	clear(p.out)
	p.path, p.out = p.path[:0], p.out[:0]
	patchers.Put(p)
}

func (p *patcher) emit(op string, value []byte) {
	p.out = append(p.out, Operation{Op: op, Path: string(p.path), Value: value})
}

// under runs f with a longer path.
func (p *patcher) under(path []byte, f func()) {
	length := len(p.path)
	p.path = path
	f()
	p.path = path[:length]
}

func (p *patcher) key(key string, f func())  { p.under(appendToken(p.path, key), f) }
func (p *patcher) index(i int, f func())     { p.under(appendIndex(p.path, i), f) }
func (p *patcher) remove()                   { p.emit("remove", nil) }
func (p *patcher) add(value []byte) func()   { return func() { p.emit("add", value) } }
func (p *patcher) write(value []byte) func() { return func() { p.emit("replace", value) } }

// place compares a place that was there at first with what it is now.
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
