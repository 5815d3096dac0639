// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MaxDepth is the number of objects and arrays that may stand inside each other. encoding/json allows 10000.
const MaxDepth = 1000

// scanner checks a text against RFC 8259 and appends an entry for every value. Its methods take the offset of the
// first byte and return the offset behind the value, or -1 after a call of fail.
type scanner struct {
	raw       []byte
	entries   []entry
	unbounded bool // no limit of depth
	fault     error
	where     int
}

// scan indexes the one value that stands in the text from an offset to the end. Like encoding/json it accepts
// bytes that are not UTF-8.
func (t *text) scan(from int) error {
	s := scanner{raw: t.raw, entries: t.entries}
	end := s.value(s.space(from), 0)
	if end >= 0 {
		if end = s.space(end); end < len(s.raw) {
			end = s.fail(end)
		}
	}
	t.entries = s.entries
	if end < 0 {
		return fmt.Errorf("scanning JSON at byte %d: %w", s.where-from, s.fault)
	}
	return nil
}

func (s *scanner) fail(i int) int {
	s.where, s.fault = i, ErrSyntax
	return -1
}

// space returns the offset of the next byte that is no white space.
func (s *scanner) space(i int) int {
	for i < len(s.raw) {
		switch s.raw[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

func (s *scanner) value(i, depth int) int {
	if i >= len(s.raw) {
		return s.fail(i)
	}
	switch s.raw[i] {
	case '"':
		return s.text(i)
	case '{':
		return s.object(i, depth+1)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return s.literal(i, "true", Bool)
	case 'f':
		return s.literal(i, "false", Bool)
	case 'n':
		return s.literal(i, "null", Null)
	default:
		return s.number(i)
	}
}

// scalar appends the entry of a value that holds no other.
func (s *scanner) scalar(start, end int, kind Kind, plain bool) int {
	s.entries = append(s.entries, entry{
		start: uint32(start), end: uint32(end), next: uint32(len(s.entries) + 1), kind: kind, plain: plain,
	})
	return end
}

// open appends the entry of a container, which close completes.
func (s *scanner) open(i, depth int, kind Kind) int {
	if depth > MaxDepth && !s.unbounded {
		s.where, s.fault = i, ErrTooDeep
		return -1
	}
	s.entries = append(s.entries, entry{start: uint32(i), kind: kind})
	return len(s.entries) - 1
}

func (s *scanner) close(at, i int) int {
	s.entries[at].end, s.entries[at].next = uint32(i+1), uint32(len(s.entries))
	return i + 1
}

func (s *scanner) object(i, depth int) int {
	at := s.open(i, depth, Object)
	if at < 0 {
		return -1
	}
	i = s.space(i + 1)
	if i < len(s.raw) && s.raw[i] == '}' {
		return s.close(at, i)
	}
	for {
		if i >= len(s.raw) || s.raw[i] != '"' {
			return s.fail(i)
		}
		if i = s.text(i); i < 0 {
			return -1
		}
		if i = s.space(i); i >= len(s.raw) || s.raw[i] != ':' {
			return s.fail(i)
		}
		if i = s.value(s.space(i+1), depth); i < 0 {
			return -1
		}
		i = s.space(i)
		switch {
		case i < len(s.raw) && s.raw[i] == ',':
			i = s.space(i + 1)
		case i < len(s.raw) && s.raw[i] == '}':
			return s.close(at, i)
		default:
			return s.fail(i)
		}
	}
}

func (s *scanner) array(i, depth int) int {
	at := s.open(i, depth, Array)
	if at < 0 {
		return -1
	}
	i = s.space(i + 1)
	if i < len(s.raw) && s.raw[i] == ']' {
		return s.close(at, i)
	}
	for {
		if i = s.value(i, depth); i < 0 {
			return -1
		}
		i = s.space(i)
		switch {
		case i < len(s.raw) && s.raw[i] == ',':
			i = s.space(i + 1)
		case i < len(s.raw) && s.raw[i] == ']':
			return s.close(at, i)
		default:
			return s.fail(i)
		}
	}
}

func (s *scanner) literal(i int, word string, kind Kind) int {
	end := i + len(word)
	if end > len(s.raw) || string(s.raw[i:end]) != word {
		return s.fail(i)
	}
	return s.scalar(i, end, kind, false)
}

func (s *scanner) number(start int) int {
	i := start
	if s.raw[i] == '-' {
		i++
	}
	whole := s.digits(i)
	if whole == i || (s.raw[i] == '0' && whole > i+1) {
		return s.fail(i)
	}
	i = whole
	if i < len(s.raw) && s.raw[i] == '.' {
		fraction := s.digits(i + 1)
		if fraction == i+1 {
			return s.fail(i)
		}
		i = fraction
	}
	if i < len(s.raw) && (s.raw[i] == 'e' || s.raw[i] == 'E') {
		i++
		if i < len(s.raw) && (s.raw[i] == '+' || s.raw[i] == '-') {
			i++
		}
		exponent := s.digits(i)
		if exponent == i {
			return s.fail(i)
		}
		i = exponent
	}
	return s.scalar(start, i, Number, false)
}

func (s *scanner) digits(i int) int {
	for i < len(s.raw) && s.raw[i]-'0' < 10 {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// text scans a string eight bytes at a time. In a word w, byte b of (w-n*ones)&^w&highs is set if b is below n; a
// borrow can set further bytes, but only above the lowest one that is set rightly, and only that one is used.
func (s *scanner) text(start int) int {
	raw, i, plain := s.raw, start+1, true
	var high uint64
	for i+8 <= len(raw) {
		w := binary.LittleEndian.Uint64(raw[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		stop := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & highs
		if stop == 0 {
			high |= w
			i += 8
			continue
		}
		before := bits.TrailingZeros64(stop) &^ 7
		high |= w & (1<<before - 1)
		i += before >> 3
		if raw[i] == '"' {
			return s.scalar(start, i+1, String, plain && high&highs == 0)
		}
		plain = false
		if i = s.escape(i); i < 0 {
			return -1
		}
	}
	return s.textEnd(start, i, plain && high&highs == 0)
}

// textEnd scans the rest of a string of which fewer than eight bytes remain in the text.
func (s *scanner) textEnd(start, i int, plain bool) int {
	for i < len(s.raw) {
		switch c := s.raw[i]; {
		case c == '"':
			return s.scalar(start, i+1, String, plain)
		case c == '\\' || c < ' ':
			plain = false
			if i = s.escape(i); i < 0 {
				return -1
			}
		default:
			plain = plain && c < 0x80
			i++
		}
	}
	return s.fail(i)
}

// escape checks one escape sequence; a control character that is not escaped fails too.
func (s *scanner) escape(i int) int {
	if s.raw[i] != '\\' || i+1 >= len(s.raw) {
		return s.fail(i)
	}
	switch s.raw[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(s.raw) {
			return s.fail(i)
		}
		for _, c := range s.raw[i+2 : i+6] {
			if hex(c) < 0 {
				return s.fail(i)
			}
		}
		return i + 6
	default:
		return s.fail(i)
	}
}
