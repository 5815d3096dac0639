// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// text is the text of a file with the positions of its parts.
type text struct {
	data []byte
	// lines are the offsets of the lines, without their ends and a mark of the byte order.
	lines []extent
	// documents returns the values as written, including duplicate keys.
	documents func() []*yaml.Node
}

// extent is a part of a text in bytes.
type extent struct{ begin, end int }

const byteOrderMark = "\ufeff"

// lineBreak matches the line breaks of YAML 1.1.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

func newText(data []byte) *text {
	t := &text{data: data, documents: sync.OnceValue(func() []*yaml.Node { return documentsIn(data) })}
	begin := 0
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		begin = len(byteOrderMark)
	}
	for _, at := range lineBreak.FindAllIndex(data, -1) {
		t.lines = append(t.lines, extent{begin, at[0]})
		begin = at[1]
	}
	t.lines = append(t.lines, extent{begin, len(data)})
	return t
}

// documentsIn returns the values of the documents of a file, up to invalid YAML.
func documentsIn(data []byte) []*yaml.Node {
	var all []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		document := &yaml.Node{}
		if err := decoder.Decode(document); err != nil {
			return all
		}
		all = append(all, document.Content...)
	}
}

// line returns the text of a line, counted from 1, without its end, or an empty string.
func (t *text) line(number int) string {
	if number < 1 || number > len(t.lines) {
		return ""
	}
	at := t.lines[number-1]
	return string(t.data[at.begin:at.end])
}

// offset returns the offset of a position in bytes, or false if it does not exist.
func (t *text) offset(at source.Position) (int, bool) {
	if at.Line < 1 || at.Line > len(t.lines) {
		return 0, false
	}
	column := 0
	for i := range t.line(at.Line) + " " { // and the place behind the line
		if column++; column == at.Column {
			return t.lines[at.Line-1].begin + i, true
		}
	}
	return 0, false
}

// span returns the place of a finding: columns from 1, the last one exclusive. Without a column it is the line without
// its indentation.
func (t *text) span(at source.Position) (begin, end int) {
	line := []rune(t.line(at.Line))
	if at.Column < 1 || at.Column > len(line) {
		trimmed := strings.TrimLeft(string(line), " \t")
		begin = len(line) - utf8.RuneCountInString(trimmed) + 1
		return begin, max(begin+utf8.RuneCountInString(strings.TrimRight(trimmed, " \t")), begin+1)
	}
	rest := line[at.Column-1:]
	return at.Column, at.Column + max(width(rest, t.nodeAt(at)), 1)
}

// width returns the number of characters of the element at the beginning of a line: a scalar, a bracketed text, a key,
// or a name in an expression.
func width(rest []rune, n *yaml.Node) int {
	switch first := rest[0]; {
	case n == nil:
		return wordLength(rest)
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		return width(rest, n.Content[0])
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0:
		return 1
	case first == '"' || first == '\'' || first == '{' || first == '[':
		return bracketed(rest)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 1
	default:
		return min(utf8.RuneCountInString(n.Value), len(rest))
	}
}

func wordLength(rest []rune) int {
	for i, r := range rest {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return i
		}
	}
	return len(rest)
}

// bracketed returns the length of a quoted or bracketed text, up to the end of the line.
func bracketed(rest []rune) int {
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"', '\'':
			i = quoted(rest, i)
		}
		if depth == 0 {
			return min(i+1, len(rest))
		}
	}
	return len([]rune(strings.TrimRight(string(rest), " \t")))
}

// quoted returns the index of the quote that ends the text starting at i, or the end of the line.
func quoted(rest []rune, i int) int {
	quote := rest[i]
	for i++; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] == quote && quote == '\'' && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case rest[i] == quote:
			return i
		}
	}
	return i
}

// nodeAt returns the innermost value at a position, or nil.
func (t *text) nodeAt(at source.Position) *yaml.Node {
	var find func(nodes []*yaml.Node) *yaml.Node
	find = func(nodes []*yaml.Node) *yaml.Node {
		var found *yaml.Node
		for _, n := range nodes {
			if n.Line == at.Line && n.Column == at.Column {
				found = n
			}
			found = cmp.Or(find(n.Content), found)
		}
		return found
	}
	return find(t.documents())
}

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
	if !ok || fix.Old == "" || !bytes.HasPrefix(t.data[begin:], []byte(fix.Old)) {
		return edit{}, false
	}
	e := edit{begin: begin, end: begin + len(fix.Old), text: fix.New}
	return e, t.isWhole(fix.At, e)
}

// isWhole reports whether a replacement does not split a plain scalar or a name.
func (t *text) isWhole(at source.Position, e edit) bool {
	if n := t.nodeAt(at); n != nil && n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		return n.Value == string(t.data[e.begin:e.end])
	}
	next, _ := utf8.DecodeRune(t.data[e.end:])
	return wordLength([]rune{next}) == 0
}

// apply makes the edits that do not overlap with others, and returns them.
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
