// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"slices"
	"strings"
)

// split returns the members of a document with their lines, and the blank lines and comments between them; false for a
// document that is not in the form that encoders write.
func split(text string) ([]block, bool) {
	s := splitter{levels: make([]level, 0, 8), keys: make([]string, 0, 64)}
	blocks := make([]block, 0, 64)
	end := 0 // of the last part
	for at := 0; at < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := strings.TrimSuffix(text[at:next], "\n")
		body := strings.TrimLeft(line, " ")
		switch {
		case !isPlainText(line):
			return nil, false
		case body == "" || body[0] == '#' && len(body) == len(line):
		case body[0] == '#':
			if len(s.levels) > 0 {
				end, blocks[len(blocks)-1].text = next, text[end-len(blocks[len(blocks)-1].text):next]
			}
		case !s.line(body, len(line)-len(body)):
			return nil, false
		case len(s.levels) == 1 && !s.levels[0].sequence:
			if at > end {
				blocks = append(blocks, block{text: text[end:at]})
			}
			end, blocks = next, append(blocks, block{key: s.keys[len(s.keys)-1], text: text[at:next]})
		default:
			end, blocks[len(blocks)-1].text = next, text[end-len(blocks[len(blocks)-1].text):next]
		}
		at = next
	}
	if end < len(text) {
		blocks = append(blocks, block{text: text[end:]})
	}
	return blocks, len(s.levels) > 0
}

// splitter reads the lines of a document in the form that encoders write: mappings and sequences in block style, scalars
// on one line without quotes or in double quotes without escapes. It refuses all other forms, be they valid or not.
type splitter struct {
	levels []level  // the collections that the next line may continue
	keys   []string // of all mappings in levels, those of the innermost last
	open   bool     // the last line ends in a key or dash without a value
}

// level is a mapping or a sequence.
type level struct {
	column   int
	sequence bool
	keys     int // index of its first key
}

// line reads a line with content. It reports false if it is not sure about the line.
func (s *splitter) line(body string, column int) bool {
	for {
		for len(s.levels) > 0 && s.innermost().column > column {
			s.leave()
		}
		value, dash := strings.CutPrefix(body, "- ")
		if dash = dash || body == "-"; dash {
			if !s.enter(column, true) || body == "-" || value == "" || value[0] == ' ' {
				return false
			}
			body, column, s.open = value, column+2, true
			if _, _, isMember := cutKey(body); !isMember && !strings.HasPrefix(body, "- ") {
				s.open = false
				return isPlainScalar(body)
			}
			continue
		}
		key, value, isMember := cutKey(body)
		if !isMember || !s.enter(column, false) || slices.Contains(s.keys[s.innermost().keys:], key) {
			return false
		}
		s.keys = append(s.keys, key)
		s.open = value == "" || value[0] == '#'
		return s.open || isPlainScalar(value)
	}
}

func (s *splitter) innermost() *level { return &s.levels[len(s.levels)-1] }

func (s *splitter) leave() {
	s.keys = s.keys[:s.innermost().keys]
	s.levels = s.levels[:len(s.levels)-1]
	s.open = false
}

// enter continues the collection in a column, or begins one below an open key or dash.
func (s *splitter) enter(column int, sequence bool) bool {
	if len(s.levels) > 0 {
		l := s.innermost()
		if l.column == column && l.sequence && !sequence { // The sequence of a key in the same column ends.
			s.leave()
			return len(s.levels) > 0 && s.innermost().column == column && !s.innermost().sequence
		}
		if l.column == column && l.sequence == sequence {
			return true
		}
		if !s.open || l.column == column && l.sequence {
			return false
		}
	} else if column > 0 || sequence {
		return false
	}
	s.levels = append(s.levels, level{column, sequence, len(s.keys)})
	return len(s.levels) <= maxDepth
}

// isPlainText reports whether a line consists of printable ASCII.
func isPlainText(line string) bool {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return false
		}
	}
	return true
}

// cutKey cuts a line behind a key without quotes.
func cutKey(body string) (key, value string, ok bool) {
	for i := range min(len(body), 128) {
		switch c := body[i]; {
		case c == ':' && i > 0 && (i+1 == len(body) || body[i+1] == ' '):
			return body[:i], strings.TrimLeft(body[i+1:], " "), true
		case !isWordByte(c) && (i == 0 || c != '-'):
			return "", "", false
		}
	}
	return "", "", false
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '/'
}

// isPlainScalar reports whether a value is a scalar on one line, or an empty collection, and perhaps a comment.
func isPlainScalar(value string) bool {
	if i := strings.Index(value, " #"); i >= 0 {
		value = value[:i]
	}
	value = strings.TrimRight(value, " ")
	if quoted, ok := strings.CutPrefix(value, `"`); ok {
		return strings.IndexAny(quoted, `"\`) == len(quoted)-1 && strings.HasSuffix(quoted, `"`)
	}
	if value == "{}" || value == "[]" {
		return true
	}
	c := value[0]
	return (isWordByte(c) && c != '.' || c == '-' && len(value) > 1 && isWordByte(value[1])) &&
		!strings.Contains(value, ": ") && !strings.HasSuffix(value, ":")
}
