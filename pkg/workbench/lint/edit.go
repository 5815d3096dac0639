// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// edit replaces bytes of a text.
type edit struct {
	begin, end int
	text       string
	finding    source.Finding
}

// resolve returns the edit of a fix. It returns false if the text differs from the expected one, or if the edit would
// change more than the fix describes.
func (t *text) resolve(fix source.Fix) (edit, bool) {
	begin, ok := t.offset(fix.At)
	switch {
	case !ok:
		return edit{}, false
	case !fix.Remove:
		e := edit{begin: begin, end: begin + len(fix.Old), text: fix.New}
		return e, fix.Old != "" && bytes.HasPrefix(t.data[begin:], []byte(fix.Old)) && t.isWhole(fix.At, e)
	}
	parent, index := t.entryAt(fix.At)
	switch {
	case parent == nil:
		return edit{}, false
	case parent.Style&yaml.FlowStyle != 0:
		return t.removeFlow(parent, index)
	default:
		return t.removeBlock(parent, index)
	}
}

// isWhole reports whether a replacement does not split a plain scalar or a name.
func (t *text) isWhole(at source.Position, e edit) bool {
	if n := t.nodeAt(at); n != nil && n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		return n.Value == string(t.data[e.begin:e.end])
	}
	next, _ := utf8.DecodeRune(t.data[e.end:])
	return wordLength([]rune{next}) == 0
}

// entryAt returns the mapping or list with an entry at a position, and the index of its key or item.
func (t *text) entryAt(at source.Position) (*yaml.Node, int) {
	var (
		parent *yaml.Node
		index  int
	)
	t.visit(func(n, around *yaml.Node, i int) {
		if around != nil && n.Line == at.Line && n.Column == at.Column {
			if parent, index = around, i; around.Kind == yaml.MappingNode {
				index -= i % 2
			}
		}
	})
	return parent, index
}

// step returns the number of nodes per entry.
func step(parent *yaml.Node) int {
	if parent.Kind == yaml.MappingNode {
		return 2
	}
	return 1
}

func (t *text) begin(n *yaml.Node) (int, bool) {
	return t.offset(source.Position{Line: n.Line, Column: n.Column})
}

// removeFlow removes an entry between brackets together with a comma. Nothing else may stand between it and its neighbours.
func (t *text) removeFlow(parent *yaml.Node, index int) (edit, bool) {
	begin, ok := t.begin(parent.Content[index])
	if !ok {
		return edit{}, false
	}
	if next := index + step(parent); next < len(parent.Content) {
		end, ok := t.begin(parent.Content[next])
		return edit{begin: begin, end: end}, ok && clean(t.data[begin:end])
	}
	open, ok := t.begin(parent)
	if !ok {
		return edit{}, false
	}
	end := open + len(string([]rune(string(t.data[open:]))[:bracketed([]rune(string(t.data[open:])))])) - 1
	if end <= begin || t.data[end] != '}' && t.data[end] != ']' {
		return edit{}, false
	}
	if index > 0 {
		if begin = bytes.LastIndexByte(t.data[:begin], ','); begin < open {
			return edit{}, false
		}
	}
	return edit{begin: begin, end: end}, clean(t.data[begin:end])
}

// clean reports whether a text is one line without a comment.
func clean(data []byte) bool { return !bytes.ContainsAny(data, "#\n\r") }

// removeBlock removes an entry with lines of its own. The first entry of a mapping in a list follows the dash; then the
// next entry takes its place.
func (t *text) removeBlock(parent *yaml.Node, index int) (edit, bool) {
	begin, ok := t.begin(parent.Content[index])
	if !ok || !t.endsInLine(parent.Content[index+step(parent)-1]) {
		return edit{}, false
	}
	line := parent.Content[index].Line
	if parent.Kind == yaml.SequenceNode {
		begin = t.starts[line-1] + bytes.LastIndexByte(t.data[t.starts[line-1]:begin], '-')
	}
	end := len(t.data)
	if line < len(t.starts) {
		end = t.starts[line]
	}
	if before := t.data[t.starts[line-1]:begin]; len(bytes.TrimSpace(before)) == 0 {
		return edit{begin: t.starts[line-1], end: end}, true
	}
	next := index + step(parent)
	if parent.Kind != yaml.MappingNode || next >= len(parent.Content) || parent.Content[next].Line != line+1 {
		return edit{}, false
	}
	end, ok = t.begin(parent.Content[next])
	return edit{begin: begin, end: end}, ok && !bytes.ContainsRune(t.data[begin:end], '#')
}

// endsInLine reports whether a value ends in its first line, followed only by a comment.
func (t *text) endsInLine(n *yaml.Node) bool {
	begin, ok := t.begin(n)
	if !ok {
		return false
	}
	rest := []rune(t.line(n.Line))[n.Column-1:]
	var length int
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0, n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0:
		return false
	case n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if length = bracketed(rest); length == 0 || !strings.ContainsRune(`"'}]`, rest[length-1]) {
			return false
		}
	case !bytes.HasPrefix(t.data[begin:], []byte(n.Value)):
		return false
	default:
		length = utf8.RuneCountInString(n.Value)
	}
	after := strings.TrimSpace(string(rest[length:]))
	return (after == "" || after[0] == '#') && !t.goesOn(n)
}

// goesOn reports whether a plain scalar has several lines.
func (t *text) goesOn(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && strings.ContainsAny(n.Value, "\n")
}

// apply makes the edits that do not meet another one, and says which.
func (t *text) apply(edits []edit) ([]byte, []edit) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	var (
		out  []byte
		done []edit
		at   int
	)
	for _, e := range edits {
		if e.begin < at {
			continue
		}
		out = append(append(out, t.data[at:e.begin]...), e.text...)
		at = e.end
		done = append(done, e)
	}
	return append(out, t.data[at:]...), done
}
