// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"slices"
	"strings"
)

// yamlEdit collects splices.
type yamlEdit struct {
	*YAML
	splices []splice
}

// splice plans that a part of the text is replaced. It may be by itself: then the value cannot be written.
func (e *yamlEdit) splice(start, end int, text string) {
	if start < end || text != "" {
		e.splices = append(e.splices, splice{start, end, text})
	}
}

// equal compares an entry with a value of JSON.
func (e *yamlEdit) equal(at int, want *Node) bool {
	if kind := e.kindOf(at); kind != want.Kind() {
		return false
	}
	entry := &e.entries[at]
	switch want.Kind() {
	case Object:
		count := 0
		for i := at + 1; i < int(entry.next); i = int(e.entries[i].next) {
			member := want.Get(e.entries[i].key(e.text))
			if count++; member == nil || !e.equal(i, member) {
				return false
			}
		}
		return count == want.Len()
	case Array:
		items, count := want.Items(), 0
		for i := at + 1; i < int(entry.next); i = int(e.entries[i].next) {
			if count == len(items) || !e.equal(i, items[count]) {
				return false
			}
			count++
		}
		return count == len(items)
	case String:
		if entry.kind == yamlPlain { // which is what it says
			return want.Is(e.text[entry.start:entry.end])
		}
		return want.Is(e.stringOf(entry))
	case Number:
		return e.text[entry.start:entry.end] == string(want.Raw()) || sameNumber(e.value(at), want.Value())
	default:
		return e.value(at) == want.Value()
	}
}

func sameNumber(a, b any) bool {
	if n, ok := b.(json.Number); ok {
		if f, err := n.Float64(); err == nil && strings.ContainsAny(string(n), ".eE") {
			return a == f
		}
	}
	return a == b
}

// children returns the entries of the members or items.
func (e *yamlEdit) children(at int) []int {
	count := 0
	for i := at + 1; i < int(e.entries[at].next); i = int(e.entries[i].next) {
		count++
	}
	out := make([]int, 0, count)
	for i := at + 1; i < int(e.entries[at].next); i = int(e.entries[i].next) {
		out = append(out, i)
	}
	return out
}

// assign plans that an entry becomes a value.
func (e *yamlEdit) assign(at int, want *Node, merge bool) {
	entry := &e.entries[at]
	switch {
	case want.Kind() == Object && e.isMap(at):
		e.members(at, e.changed(at, want, merge), func(key string) bool { return merge || want.Get(key) != nil })
	case e.equal(at, want):
	case want.Kind() == Array && entry.kind == yamlSeq && want.Len() > 0 && e.items(at, want):
	default:
		e.replace(at, want)
	}
}

// yamlMember is a member that shall be set.
type yamlMember struct {
	key   string
	value *Node
	at    int // -1 for a new one
	merge bool
}

// changed returns the members of an object that differ from those of a mapping.
func (e *yamlEdit) changed(at int, want *Node, merge bool) []yamlMember {
	find := func(key string) int { return e.member(at, key) }
	const few = 4
	if want.Len() > few {
		index := map[string]int{}
		for i, end := at+1, int(e.entries[at].next); i < end; i = int(e.entries[i].next) {
			index[e.entries[i].key(e.text)] = i
		}
		find = func(key string) int {
			if i, ok := index[key]; ok {
				return i
			}
			return -1
		}
	}
	var out []yamlMember
	for key, value := range want.Members() {
		if i := find(key); i < 0 || !e.equal(i, value) {
			out = append(out, yamlMember{key, value, i, merge})
		}
	}
	return out
}

// members plans that members of a mapping are set, and that only those stay that keep says.
func (e *yamlEdit) members(at int, changed []yamlMember, keep func(key string) bool) {
	children := e.children(at)
	left := children
	if drop := func(i int) bool { return !keep(e.entries[i].key(e.text)) }; slices.ContainsFunc(children, drop) {
		left = slices.DeleteFunc(slices.Clone(children), drop)
	}
	switch {
	case len(left) == len(children) && len(changed) == 0:
	case e.entries[at].kind == yamlFlowMap && len(left) > 0:
		e.flowMembers(at, left, changed)
	case len(left) == 0:
		e.refill(at, changed)
	default:
		for _, m := range changed {
			if m.at >= 0 {
				e.assign(m.at, m.value, m.merge)
			}
		}
		e.removeMembers(children, left)
		e.addMembers(at, children, changed)
	}
}

// refill replaces all members of a mapping.
func (e *yamlEdit) refill(at int, changed []yamlMember) {
	raw := []byte{'{'}
	for i, m := range changed {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = slices.Concat(raw, Quote(m.key), []byte{':'}, m.value.Raw())
	}
	d, err := e.room.parse(append(raw, '}'))
	if err != nil {
		return
	}
	e.replace(at, d.Root())
}

// flowMembers writes a flow mapping with other members.
func (e *yamlEdit) flowMembers(at int, left []int, changed []yamlMember) {
	values, fresh := map[int]yamlMember{}, []string{}
	for _, m := range changed {
		if m.at < 0 {
			fresh = append(fresh, yamlString(m.key, true)+": "+flowText(m.value))
		} else {
			values[m.at] = m
		}
	}
	differs := len(fresh) > 0 || len(left) < len(e.children(at))
	var parts []string
	for _, i := range left {
		entry := &e.entries[i]
		part := e.text[entry.keyStart:entry.end]
		if m, ok := values[i]; ok {
			value := e.flowValue(i, m)
			differs = differs || value != e.text[entry.start:entry.end]
			part = e.text[entry.keyStart:entry.start] + value
		}
		parts = append(parts, part)
	}
	if differs {
		e.splice(e.entries[at].start, e.entries[at].end, "{"+strings.Join(append(parts, fresh...), ", ")+"}")
	}
}

// flowValue writes the new value of a member of a flow mapping.
func (e *yamlEdit) flowValue(at int, m yamlMember) string {
	if !m.merge || m.value.Kind() != Object || !e.isMap(at) {
		return flowText(m.value)
	}
	inner := &yamlEdit{YAML: e.YAML}
	inner.assign(at, m.value, true)
	entry := &e.entries[at]
	out := e.text[entry.start:entry.end]
	for _, s := range slices.Backward(inner.splices) { // There is one at most, for the whole mapping.
		out = out[:s.start-entry.start] + s.text + out[s.end-entry.start:]
	}
	return out
}

// removeMembers takes the lines of members out that are not left.
func (e *yamlEdit) removeMembers(children, left []int) {
	for n, i := range children {
		if len(left) > 0 && left[0] == i {
			left = left[1:]
			continue
		}
		m := &e.entries[i]
		if !e.sharesLine(m) {
			e.splice(m.line, m.below, "")
			continue
		}
		next := &e.entries[children[n+1]] // Somebody is left, and it is not this first one.
		if left[0] == children[n+1] && !strings.Contains(e.text[m.below:next.line], "#") {
			e.splice(m.keyStart, next.keyStart, "")
		} else {
			e.splice(m.keyStart, m.below-len(lineEndAt(e.text, m.below)), "")
		}
	}
}

// sharesLine reports whether a key or dash stands behind the dash of an item.
func (e *yamlEdit) sharesLine(m *yamlEntry) bool {
	return strings.TrimLeft(e.text[m.line:m.keyStart], " ") != ""
}

// isItem reports whether an entry in lines is the item of a list.
func (e *yamlEdit) isItem(entry *yamlEntry) bool {
	return entry.keyStart >= 0 && e.text[entry.behind-1] == '-'
}

// addMembers writes new members behind the last one.
func (e *yamlEdit) addMembers(at int, children []int, changed []yamlMember) {
	last := &e.entries[children[len(children)-1]]
	for _, m := range changed {
		if m.at < 0 {
			e.insertLines(last.below, memberLines(m.key, m.value, e.entries[at].column))
		}
	}
}

// insertLines writes lines at the beginning of a line, or behind a text without a line ending at its end.
func (e *yamlEdit) insertLines(at int, lines []string) {
	eol := lineEnding(e.text)
	text := strings.Join(lines, eol)
	if at > 0 && lineEndAt(e.text, at) == "" {
		e.splice(at, at, eol+text)
		return
	}
	e.splice(at, at, text+eol)
}

// lineEndAt returns the line ending in front of an offset.
func lineEndAt(text string, at int) string {
	switch {
	case strings.HasSuffix(text[:at], "\r\n"):
		return "\r\n"
	case strings.HasSuffix(text[:at], "\n"):
		return "\n"
	default:
		return ""
	}
}

// items plans that a list of lines gets other items: those at the head and the tail that are right already stay,
// those between are edited where they stand. It returns false if the list must be replaced as a whole.
func (e *yamlEdit) items(at int, want *Node) bool {
	items, children := want.Items(), e.children(at)
	for _, i := range children {
		if e.sharesLine(&e.entries[i]) {
			return false
		}
	}
	where := e.entries[children[0]].line
	for len(items) > 0 && len(children) > 0 && e.equal(children[0], items[0]) {
		where = e.entries[children[0]].below
		items, children = items[1:], children[1:]
	}
	for len(items) > 0 && len(children) > 0 && e.equal(children[len(children)-1], items[len(items)-1]) {
		items, children = items[:len(items)-1], children[:len(children)-1]
	}
	for n, i := range children {
		if n < len(items) {
			e.assign(i, items[n], false)
			where = e.entries[i].below
		} else {
			e.splice(e.entries[i].line, e.entries[i].below, "")
		}
	}
	for _, item := range items[min(len(items), len(children)):] {
		e.insertLines(where, itemLines(item, e.entries[at].column))
	}
	return true
}
