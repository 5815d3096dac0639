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
	// documents returns the values as written, including duplicate keys, up to invalid YAML.
	documents func() []*yaml.Node
}

// extent is a part of a text in bytes.
type extent struct{ begin, end int }

// lineBreak matches the line breaks of YAML 1.1.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

func newText(data []byte) *text {
	t := &text{data: data}
	t.documents = sync.OnceValue(func() (all []*yaml.Node) {
		decoder, document := yaml.NewDecoder(bytes.NewReader(data)), yaml.Node{}
		for decoder.Decode(&document) == nil {
			all = append(all, document.Content...)
		}
		return all
	})
	begin := len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))
	for _, at := range lineBreak.FindAllIndex(data, -1) {
		t.lines = append(t.lines, extent{begin, at[0]})
		begin = at[1]
	}
	t.lines = append(t.lines, extent{begin, len(data)})
	return t
}

// line returns the text of a line, counted from 1, without its end, or an empty string.
func (t *text) line(number int) string {
	if number < 1 || number > len(t.lines) {
		return ""
	}
	at := t.lines[number-1]
	return string(t.data[at.begin:at.end])
}

// offset returns the offset of a character in the bytes of its line, or false if it does not exist.
func (t *text) offset(at source.Position) (int, bool) {
	column := 0
	for i := range t.line(at.Line) {
		if column++; column == at.Column {
			return i, true
		}
	}
	return 0, false
}

// span returns the place of a finding: columns from 1, the last one exclusive. Without a column it is the line without
// its indentation.
func (t *text) span(at source.Position) (begin, end int) {
	line := t.line(at.Line)
	offset, ok := t.offset(at)
	if !ok {
		marked := strings.TrimLeft(line, " \t")
		begin = len(line) - len(marked) + 1
		return begin, begin + max(utf8.RuneCountInString(strings.TrimRight(marked, " \t")), 1)
	}
	rest := line[offset:]
	width := min(utf8.RuneCountInString(element(rest, nodeAt(t.documents(), at))), utf8.RuneCountInString(rest))
	return at.Column, at.Column + max(width, 1)
}

// word matches a name in an expression.
var word = regexp.MustCompile(`^\w*`)

// element returns the element at the beginning of a line: a scalar, a bracketed text, a key, or a name in an expression.
func element(line string, n *yaml.Node) string {
	switch {
	case n == nil:
		return word.FindString(line)
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		return element(line, n.Content[0])
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0:
		return ""
	case strings.ContainsAny(line[:1], `"'{[`):
		return bracketed(line)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return ""
	default:
		return n.Value
	}
}

// brackets matches quoted texts, also those without an end, and brackets.
var brackets = regexp.MustCompile(`"(?:\\.?|[^"\\])*"?|'(?:''|[^'])*'?|[{}\[\]]`)

// bracketed returns the quoted or bracketed text at the beginning of a line, up to the end of the line.
func bracketed(line string) string {
	depth := 0
	for _, at := range brackets.FindAllStringIndex(line, -1) {
		switch line[at[0]] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return line[:at[1]]
		}
	}
	return strings.TrimRight(line, " \t")
}

// nodeAt returns the innermost value at a position, or nil.
func nodeAt(nodes []*yaml.Node, at source.Position) *yaml.Node {
	var found *yaml.Node
	for _, n := range nodes {
		if n.Line == at.Line && n.Column == at.Column {
			found = n
		}
		found = cmp.Or(nodeAt(n.Content, at), found)
	}
	return found
}

// replacement replaces bytes of a text.
type replacement struct {
	begin, end int
	text       string
	finding    source.Finding
}

// resolve returns the replacement of a fix. It returns false if the text differs from the expected one, or if the edit would
// split a plain scalar or a name.
func (t *text) resolve(fix source.Fix) (replacement, bool) {
	offset, ok := t.offset(fix.At)
	if !ok || fix.Old == "" {
		return replacement{}, false
	}
	begin := t.lines[fix.At.Line-1].begin + offset
	rest, ok := bytes.CutPrefix(t.data[begin:], []byte(fix.Old))
	if n := nodeAt(t.documents(), fix.At); n != nil && n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		ok = ok && n.Value == fix.Old
	} else {
		ok = ok && len(word.Find(rest)) == 0
	}
	return replacement{begin: begin, end: begin + len(fix.Old), text: fix.New}, ok
}

// apply makes the edits that do not overlap with others, and returns them.
func (t *text) apply(edits []replacement) ([]byte, []replacement) {
	slices.SortStableFunc(edits, func(a, b replacement) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	var (
		out  []byte
		done []replacement
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
