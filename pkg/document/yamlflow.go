// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "strings"

// flow reads a flow collection that stands on one line, with scalars that need no thought.
func (s *yamlScanner) flow(depth int, e *yamlEntry, end, next, parent int) {
	at := len(s.entries)
	e.below = next
	if s.flowValue(depth, e, end) < 0 {
		s.doubt()
		return
	}
	if !s.onlyComment(s.entries[at].end, end) {
		s.doubt()
		return
	}
	s.leave(next, parent)
}

// flowValue reads a value that begins at e.start, and returns where it ends, or -1.
func (s *yamlScanner) flowValue(depth int, e *yamlEntry, end int) int {
	if depth > maxYAMLDepth {
		s.stop(yamlDeep)
		return -1
	}
	if e.start >= end {
		return -1
	}
	switch c := s.text[e.start]; c {
	case '{', '[':
		return s.flowCollection(depth, e, end, c == '{')
	case '"', '\'':
		e.kind, e.end = yamlSingle, s.quoted(e.start, end, c)
		if c == '"' {
			e.kind = yamlDouble
		}
	default:
		e.kind, e.end = yamlPlain, s.flowPlain(e.start, end)
	}
	if e.end < 0 {
		return -1
	}
	s.add(e)
	return e.end
}

// flowCollection reads what stands between the brackets.
func (s *yamlScanner) flowCollection(depth int, e *yamlEntry, end int, isMap bool) int {
	e.kind = yamlFlowSeq
	closing := byte(']')
	if isMap {
		e.kind, closing = yamlFlowMap, '}'
	}
	at, keys := len(s.entries), yamlKeys{first: len(s.entries) + 1}
	s.entries = append(s.entries, *e)
	i := s.blanks(e.start+1, end)
	var child yamlEntry // Out here, so that it does not escape.
	for first := true; i < end && (s.text[i] != closing || !first); first = false {
		child = yamlEntry{keyStart: i, keyEnd: i, behind: i, line: e.line, below: e.below}
		if isMap {
			if i = s.flowKey(&child, end, &keys); i < 0 {
				return -1
			}
		}
		child.start = i
		if i = s.flowValue(depth+1, &child, end); i < 0 {
			return -1
		}
		if i = s.blanks(i, end); i < end && s.text[i] == closing {
			break
		}
		if i == end || s.text[i] != ',' {
			return -1
		}
		i = s.blanks(i+1, end)
	}
	if i >= end {
		return -1
	}
	s.entries[at].end, s.entries[at].next = i+1, int32(len(s.entries))
	return i + 1
}

// flowKey reads the key at e.keyStart, and returns where its value begins, or -1.
func (s *yamlScanner) flowKey(e *yamlEntry, end int, keys *yamlKeys) int {
	i := e.keyStart
	var stop int
	if c := s.text[i]; c == '"' || c == '\'' {
		stop = s.quoted(i, end, c)
	} else {
		stop = s.flowPlain(i, end)
	}
	if stop < 0 || stop+1 >= end || s.text[stop] != ':' || s.text[stop+1] != ' ' || stop-i > 512 {
		return -1
	}
	e.keyEnd = stop
	if keys.seen(s, e.key(s.text)) {
		s.at = i
		s.stop(yamlDuplicate)
		return -1
	}
	e.behind = stop + 1
	return s.blanks(stop+1, end)
}

// flowPlain returns where a scalar of harmless characters ends, or -1.
func (s *yamlScanner) flowPlain(at, end int) int {
	i := at
	for i < end && (isWordByte(s.text[i]) || i > at && strings.IndexByte("-%+", s.text[i]) >= 0 ||
		i == at && s.text[i] == '-' && i+1 < end && isWordByte(s.text[i+1])) {
		i++
	}
	if i == at {
		return -1
	}
	return i
}

// isWordByte reports whether a byte means nothing but itself in YAML.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '/'
}

func (s *yamlScanner) blanks(at, end int) int {
	for at < end && s.text[at] == ' ' {
		at++
	}
	return at
}
