// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "strings"

// key reads the key that begins at the place: what it says, where it ends, and where its colon stands; colon is -1 if
// there is no key that the scanner is sure about.
func (s *yamlScanner) key() (key string, end, colon int) {
	stop, _ := s.endOf(s.at)
	c := s.text[s.at]
	if c == '"' || c == '\'' {
		if end = s.quoted(s.at, stop, c); end < 0 {
			return "", 0, -1
		}
		for colon = end; colon < stop && s.text[colon] == ' '; {
			colon++
		}
		if colon == stop || s.text[colon] != ':' || !s.blankAt(colon+1, stop) {
			return "", 0, -1
		}
		key = unquoteYAML(s.text[s.at:end])
	} else {
		if !yamlPlainStart(s.text[s.at:stop]) {
			return "", 0, -1
		}
		if colon = s.colon(s.at, stop); colon < 0 || s.comment(s.at, colon) >= 0 {
			return "", 0, -1
		}
		key = strings.TrimRight(s.text[s.at:colon], " ")
		end = s.at + len(key)
	}
	if key == "<<" || colon-s.at > 512 { // A merge, or longer than a key may be without "?".
		return "", 0, -1
	}
	return key, end, colon
}

// colon returns the offset of the first colon that ends a key, -1 if there is none.
func (s *yamlScanner) colon(at, end int) int {
	for at < end {
		next := strings.IndexByte(s.text[at:end], ':')
		if next < 0 {
			return -1
		}
		if at += next; s.blankAt(at+1, end) {
			return at
		}
		at++
	}
	return -1
}

// comment returns the offset of the blank in front of a comment, -1 if there is none.
func (s *yamlScanner) comment(at, end int) int {
	if !s.remarks {
		return -1
	}
	if next := strings.Index(s.text[at:end], " #"); next >= 0 {
		return at + next
	}
	return -1
}

// blankAt reports whether a blank or the end of the line stands at an offset.
func (s *yamlScanner) blankAt(at, end int) bool { return at >= end || s.text[at] == ' ' }

// yamlIndicators are the characters that no scalar without quotes begins with.
var yamlIndicators = func() (set [256]bool) {
	for _, c := range []byte("#,[]{}&*!|>'\"%@` =") {
		set[c] = true
	}
	return set
}()

// yamlPlainStart reports whether a scalar without quotes can begin so.
func yamlPlainStart(text string) bool {
	if c := text[0]; c == '-' || c == '?' || c == ':' {
		return len(text) > 1 && text[1] != ' ' && !strings.HasPrefix(text, "---")
	}
	return !yamlIndicators[text[0]] && !strings.HasPrefix(text, "...")
}

// plain returns where a scalar without quotes ends, -1 if the scanner is not sure.
func (s *yamlScanner) plain(at, end int) int {
	if !yamlPlainStart(s.text[at:end]) {
		return -1
	}
	if comment := s.comment(at, end); comment >= 0 {
		end = comment
	}
	if s.colon(at, end) >= 0 {
		return -1
	}
	return at + len(strings.TrimRight(s.text[at:end], " "))
}

// quoted returns where a quoted scalar ends that begins at an offset, -1 if the scanner is not sure.
func (s *yamlScanner) quoted(at, end int, quote byte) int {
	for i := at + 1; i < end; i++ {
		switch c := s.text[i]; {
		case c == '\\' && quote == '"':
			size := yamlEscapeSize(s.text[i:end])
			if size == 0 {
				return -1
			}
			i += size - 1
		case c == quote && quote == '\'' && i+1 < end && s.text[i+1] == quote:
			i++
		case c == quote:
			return i + 1
		}
	}
	return -1
}

// yamlEscapeSize returns the length of the escape sequence that a text begins with, 0 for one that is not known or
// stands for half a character.
func yamlEscapeSize(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't', '0', 'e':
		return 2
	case 'x':
		return yamlHexSize(text, 4)
	case 'u':
		return yamlHexSize(text, 6)
	case 'U':
		return yamlHexSize(text, 10)
	default:
		return 0
	}
}

// yamlHexSize returns size when the text begins with an escape sequence of hexadecimal digits of that length, which must
// stand for a whole character; 0 otherwise.
func yamlHexSize(text string, size int) int {
	if len(text) < size || size == 10 && (text[2:4] != "00" || text[4] != '0' && text[4:6] != "10") {
		return 0
	}
	for _, c := range []byte(text[2:size]) {
		if hex(c) < 0 {
			return 0
		}
	}
	if size >= 6 && hex(text[size-4]) == 13 && hex(text[size-3]) >= 8 && (size == 6 || text[4:6] == "00") {
		return 0
	}
	return size
}

// blockScalar reads | or > and the lines below, up to the last one that is not blank.
func (s *yamlScanner) blockScalar(e *yamlEntry, end, next, parent int) {
	head := e.start + 1
	if head < end && s.text[head] == '-' {
		head++
	}
	if !s.onlyComment(head, end) {
		s.doubt()
		return
	}
	e.kind, e.end = yamlBlock, -1
	indent := -1
	for at := next; at < len(s.text); {
		stop, behind := s.endOf(at)
		from := at
		for from < stop && s.text[from] == ' ' {
			from++
		}
		if from < stop {
			if indent < 0 {
				indent = from - at
			}
			if from-at < indent || indent <= parent {
				break
			}
			e.end, e.below = stop, behind
		} else if indent < 0 && stop > at || indent >= 0 && from-at > indent {
			s.doubt() // Blanks that count.
			return
		}
		at = behind
	}
	if e.end < 0 || e.below == e.end && s.text[e.start+1] != '-' { // Its last line would have an ending once something follows.
		s.doubt()
		return
	}
	s.add(e)
	s.leave(e.below, parent)
}

// yamlKeys finds keys that stand twice in a mapping. One that is greater than all before it, as in what encoders write,
// needs no search.
type yamlKeys struct {
	first  int // entry of the first member
	count  int
	others int // how many were not greater
	max    string
	some   map[string]bool // all keys, once there are many and many of them not in order
}

func (k *yamlKeys) seen(s *yamlScanner, key string) bool {
	greater := key > k.max
	if k.count++; greater {
		k.max = key
	}
	if !greater {
		k.others++
	}
	const few = 8
	if k.some == nil && k.others > few && k.count > manyMembers {
		k.some = make(map[string]bool, 2*k.count)
		for i := k.first; i < len(s.entries); i = int(s.entries[i].next) {
			k.some[s.entries[i].key(s.text)] = true
		}
	}
	if k.some != nil {
		found := k.some[key]
		k.some[key] = true
		return found
	}
	for i := k.first; !greater && i < len(s.entries); i = int(s.entries[i].next) {
		if s.entries[i].key(s.text) == key {
			return true
		}
	}
	return false
}
