// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "strings"

// yamlStep is the indentation of what this package writes. Dashes stand below their key, as encoders of Kubernetes'
// components write them.
const yamlStep = 2

// isInline reports whether a value is written on one line, next to its key.
func isInline(n *Node) bool { return n.Len() == 0 }

// inlineText writes a scalar or an empty collection.
func inlineText(n *Node, flow bool) string {
	switch n.Kind() {
	case Object:
		return "{}"
	case Array:
		return "[]"
	case String:
		s, _ := n.Text()
		return yamlString(s, flow)
	default:
		return string(n.Raw())
	}
}

// flowText writes a value in flow style.
func flowText(n *Node) string {
	if isInline(n) {
		return inlineText(n, true)
	}
	var parts []string
	for key, member := range n.Members() {
		parts = append(parts, yamlString(key, true)+": "+flowText(member))
	}
	for _, item := range n.Items() {
		parts = append(parts, flowText(item))
	}
	if n.Kind() == Object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// blockLines writes a collection that is not empty, its keys or dashes in a column.
func blockLines(n *Node, column int) []string {
	var out []string
	for key, member := range n.Members() {
		out = append(out, memberLines(key, member, column)...)
	}
	for _, item := range n.Items() {
		out = append(out, itemLines(item, column)...)
	}
	return out
}

func memberLines(key string, value *Node, column int) []string {
	head := strings.Repeat(" ", column) + yamlString(key, false) + ":"
	if isInline(value) {
		return []string{head + " " + inlineText(value, false)}
	}
	return append([]string{head}, blockLines(value, below(value, column))...)
}

// below returns the column of a collection below a key that stands in a column.
func below(n *Node, column int) int {
	if n.Kind() == Object {
		column += yamlStep
	}
	return column
}

func itemLines(value *Node, column int) []string {
	head := strings.Repeat(" ", column) + "- "
	if isInline(value) {
		return []string{head + inlineText(value, false)}
	}
	lines := blockLines(value, column+yamlStep)
	lines[0] = head + lines[0][column+yamlStep:]
	return lines
}

// replace plans that an entry becomes another value as a whole.
func (e *yamlEdit) replace(at int, want *Node) {
	entry := &e.entries[at]
	flow := entry.kind == yamlFlowMap || entry.kind == yamlFlowSeq
	switch {
	case entry.kind == yamlMap || entry.kind == yamlSeq:
		e.replaceLines(at, want)
	case isInline(want):
		e.replaceScalar(entry, inlineText(want, false))
	case flow && int(entry.next) > at+1:
		e.replaceScalar(entry, flowText(want))
	default:
		e.replaceByLines(entry, want)
	}
}

// replaceScalar puts a text in the place of a value that begins on the line of its key.
func (e *yamlEdit) replaceScalar(entry *yamlEntry, text string) {
	switch entry.kind {
	case yamlEmpty:
		e.splice(entry.start, entry.start, " "+text)
	case yamlBlock:
		head := e.blockHead(entry)
		e.splice(entry.start, head, text)
		stop, _ := endOfLine(e.text, head)
		e.splice(stop, entry.end, "")
	default:
		e.splice(entry.start, entry.end, text)
	}
}

// blockHead returns where the indicators of a block scalar end.
func (e *yamlEdit) blockHead(entry *yamlEntry) int {
	if e.text[entry.start+1] == '-' {
		return entry.start + 2
	}
	return entry.start + 1
}

// replaceLines puts a value in the place of a collection of lines.
func (e *yamlEdit) replaceLines(at int, want *Node) {
	entry := &e.entries[at]
	first := &e.entries[at+1]
	begins := first.line
	same := e.isItem(entry) && first.line == entry.line
	column := entry.column
	if isMap := entry.kind == yamlMap; isMap != (want.Kind() == Object) && entry.keyStart >= 0 && !e.isItem(entry) {
		column = below(want, entry.keyStart-entry.line)
	}
	switch {
	case same && isInline(want):
		e.splice(entry.start, entry.end, inlineText(want, false))
	case same:
		lines := blockLines(want, column)
		lines[0] = lines[0][column:]
		e.splice(entry.start, entry.end, strings.Join(lines, lineEnding(e.text)))
	case isInline(want) && entry.keyStart >= 0:
		e.splice(entry.behind, entry.behind, " "+inlineText(want, false))
		e.splice(begins, entry.below, "")
	case isInline(want):
		e.splice(begins, entry.below, inlineText(want, false)+lineEndAt(e.text, entry.below))
	default:
		text := strings.Join(blockLines(want, column), lineEnding(e.text))
		e.splice(begins, entry.below, text+lineEndAt(e.text, entry.below))
	}
}

// replaceByLines puts a collection of lines in the place of a value that stands on the line of its key.
func (e *yamlEdit) replaceByLines(entry *yamlEntry, want *Node) {
	switch {
	case entry.keyStart < 0:
		e.splice(entry.start, entry.end, strings.Join(blockLines(want, entry.start-entry.line), lineEnding(e.text)))
	case e.isItem(entry):
		column := entry.start - entry.line
		lead := ""
		if entry.kind == yamlEmpty {
			column, lead = column+1, " "
		}
		lines := blockLines(want, column)
		lines[0] = lead + lines[0][column:]
		e.splice(entry.start, entry.end, strings.Join(lines, lineEnding(e.text)))
	default:
		lines := blockLines(want, below(want, entry.keyStart-entry.line))
		if entry.kind == yamlBlock {
			head := e.blockHead(entry)
			_, next := endOfLine(e.text, head)
			e.splice(entry.behind, head, "")
			e.splice(next, entry.below, strings.Join(lines, lineEnding(e.text))+lineEndAt(e.text, entry.below))
			return
		}
		e.splice(entry.behind, entry.end, "")
		e.insertLines(entry.below, lines)
	}
}
