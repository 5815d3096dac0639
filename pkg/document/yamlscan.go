// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// yamlKind is how a value stands in YAML.
type yamlKind uint8

const (
	yamlEmpty   yamlKind = iota // nothing at all, which is null
	yamlPlain                   // a scalar without quotes
	yamlDouble                  // "a scalar"
	yamlSingle                  // 'a scalar'
	yamlBlock                   // | or > and the lines below
	yamlMap                     // key: value, one a line
	yamlSeq                     // - value, one a line
	yamlFlowMap                 // {key: value}
	yamlFlowSeq                 // [value]
)

// yamlEntry is one value, with its key if it is a member. Members and items follow their collection directly, and a
// value and all it holds are the entries up to next. Collections of lines begin with their first key or dash.
type yamlEntry struct {
	keyStart   int // bytes; for an item, of its dash or, in flow style, of the value; -1 at the root
	keyEnd     int // behind the key; keyStart where there is none
	behind     int // offset behind the colon or the dash
	start, end int // bytes of the value; where it goes, if empty
	line       int // offset at which the line of the key or the dash begins
	below      int // offset behind the last line of the value, with its ending
	column     int // of the keys or dashes of a collection of lines, counted from 0
	next       int32
	kind       yamlKind
}

// key returns the key of a member, decoded.
func (e *yamlEntry) key(text string) string {
	if e.keyEnd == e.keyStart {
		return ""
	}
	if c := text[e.keyStart]; c == '"' || c == '\'' {
		return unquoteYAML(text[e.keyStart:e.keyEnd])
	}
	return text[e.keyStart:e.keyEnd]
}

// yamlScanner indexes the YAML that encoders write and most people too: mappings and sequences in lines, scalars and
// flow collections on one line, block scalars without an indicator but "-". It refuses everything else, also what is
// wrong, and so is no judge of YAML: what it refuses is read by go.yaml.in/yaml/v3.
type yamlScanner struct {
	text    string
	at      int                           // the next line with content, of which the first columns may have been read
	line    int                           // where that line begins
	column  int                           // of at
	found   struct{ from, end, next int } // the line that endOf found last
	remarks bool                          // there may be comments
	entries []yamlEntry
	fail    yamlDoubt
}

// yamlDoubt is why the scanner stopped.
type yamlDoubt uint8

const (
	yamlFine yamlDoubt = iota
	yamlUnsure
	yamlDuplicate // at is where the second key begins
	yamlDeep
)

// scanYAML indexes a text into an empty list. If it is not sure, it returns the reason and an offset.
func scanYAML(text string, into []yamlEntry) (entries []yamlEntry, doubt yamlDoubt, at int) {
	if !yamlCharacters(text) {
		return into, yamlUnsure, 0
	}
	s := yamlScanner{text: text, entries: into, remarks: strings.IndexByte(text, '#') >= 0}
	s.found.end = -1
	s.nextLine(0)
	if s.column == 0 && strings.HasPrefix(text[s.at:], "---") {
		end, next := s.endOf(s.at)
		if !s.onlyComment(s.at+3, end) {
			return into, yamlUnsure, s.at
		}
		s.nextLine(next)
	}
	s.node(0, &yamlEntry{keyStart: -1, keyEnd: -1, line: s.line}, -1)
	if s.fail == yamlFine && s.at < len(text) {
		s.fail = yamlUnsure
	}
	return s.entries, s.fail, s.at
}

// yamlCharacters reports whether all characters are those that need no thought: no tabs, no control characters, no
// line breaks of Unicode, no carriage return but in front of a line feed.
func yamlCharacters(text string) bool {
	for i := 0; i < len(text); i++ {
		for i+8 <= len(text) && harmless8(text[i:i+8]) {
			i += 8
		}
		if i == len(text) {
			break
		}
		c := text[i]
		if yamlHarmless[c] || c == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		if c < utf8.RuneSelf {
			return false
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return false
		}
		i += size - 1
	}
	return true
}

// harmless8 reports whether eight bytes are in yamlHarmless.
func harmless8(text string) bool {
	w := word8(text)
	line, del := w^('\n'*ones), w^(0x7f*ones)
	w |= ^((line&^highs + (highs - ones)) | line) & highs >> 2 // Line feeds become asterisks.
	return (w|(w-' '*ones)&^w|(del-ones)&^del)&highs == 0
}

// yamlHarmless are the characters of ASCII that need no thought wherever they stand.
var yamlHarmless = func() (set [256]bool) {
	set['\n'] = true
	for c := ' '; c < 0x7f; c++ {
		set[c] = true
	}
	return set
}()

// endOf returns where the line ends that holds an offset, without its ending, and where the next one begins.
func (s *yamlScanner) endOf(at int) (end, next int) {
	l := &s.found
	if at < l.from || at > l.end {
		*l = struct{ from, end, next int }{at, len(s.text), len(s.text)}
		if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
			l.end, l.next = at+i, at+i+1
			if i > 0 && s.text[l.end-1] == '\r' {
				l.end--
			}
		}
	}
	return l.end, l.next
}

// nextLine goes to the first line from an offset that is neither blank nor a comment.
func (s *yamlScanner) nextLine(at int) {
	for at < len(s.text) {
		end, next := s.endOf(at)
		from := at
		for from < end && s.text[from] == ' ' {
			from++
		}
		if from < end && s.text[from] != '#' {
			s.at, s.line, s.column = from, at, from-at
			return
		}
		at = next
	}
	s.at, s.line, s.column = len(s.text), len(s.text), -1
}

// onlyComment reports whether nothing but blanks and a comment stands between two offsets.
func (s *yamlScanner) onlyComment(at, end int) bool {
	from := at
	for at < end && s.text[at] == ' ' {
		at++
	}
	return at == end || s.text[at] == '#' && at > from
}

func (s *yamlScanner) doubt() { s.stop(yamlUnsure) }

func (s *yamlScanner) stop(why yamlDoubt) {
	if s.fail == yamlFine {
		s.fail = why
	}
}

// isDash reports whether an item of a sequence begins at the place.
func (s *yamlScanner) isDash() bool {
	return s.text[s.at] == '-' && (s.at+1 == len(s.text) || strings.IndexByte(" \r\n", s.text[s.at+1]) >= 0)
}

// node reads the value that begins at the place, on a line of its own or behind a dash. What it holds must be
// indented more than parent.
func (s *yamlScanner) node(depth int, e *yamlEntry, parent int) {
	if depth > maxYAMLDepth {
		s.stop(yamlDeep)
		return
	}
	if s.at == len(s.text) || s.fail != yamlFine {
		s.doubt()
		return
	}
	if s.isDash() {
		s.sequence(depth, e)
		return
	}
	if _, _, colon := s.key(); colon >= 0 {
		s.mapping(depth, e)
		return
	}
	if e.keyStart >= 0 && e.line != s.line { // A scalar below its key or dash.
		s.doubt()
		return
	}
	s.scalar(depth, e, s.at, parent)
}

// mapping reads the members that stand in the column of the place.
func (s *yamlScanner) mapping(depth int, e *yamlEntry) {
	e.kind, e.column, e.start = yamlMap, s.column, s.at
	at := len(s.entries)
	s.entries = append(s.entries, *e)
	keys, last := yamlKeys{first: at + 1}, at
	var member yamlEntry // Out here, so that it does not escape.
	for s.fail == yamlFine && s.column == e.column && s.at < len(s.text) && !s.isDash() {
		keyStart, line := s.at, s.line
		if plain := len(s.entries); s.plainMember(&keys, e.column) {
			last = plain
			continue
		}
		key, end, colon := s.key()
		if colon < 0 || s.text[end:colon] != "" && strings.Trim(s.text[end:colon], " ") != "" {
			s.doubt()
			return
		}
		if keys.seen(s, key) {
			s.stop(yamlDuplicate)
			return
		}
		last = len(s.entries)
		member = yamlEntry{keyStart: keyStart, keyEnd: end, behind: colon + 1, line: line}
		s.member(depth, &member, colon+1, e.column)
	}
	s.close(at, last)
}

// close ends a collection of lines where its last child ends.
func (s *yamlScanner) close(at, last int) {
	if s.fail != yamlFine {
		return
	}
	e := &s.entries[at]
	e.next = int32(len(s.entries))
	e.end, e.below = s.entries[last].end, s.entries[last].below
}

// member reads the value of a key in a column, behind its colon.
func (s *yamlScanner) member(depth int, e *yamlEntry, at, column int) {
	end, next := s.endOf(at)
	if !s.onlyComment(at, end) {
		for s.text[at] == ' ' {
			at++
		}
		s.scalar(depth, e, at, column)
		return
	}
	s.nextLine(next)
	if s.at < len(s.text) && (s.column > column || s.column == column && s.isDash()) {
		s.node(depth+1, e, column)
		return
	}
	s.empty(e, at, next)
}

// empty is a value that is not there.
func (s *yamlScanner) empty(e *yamlEntry, at, next int) {
	e.kind, e.start, e.end, e.below = yamlEmpty, at, at, next
	s.add(e)
}

// add appends an entry that holds no others.
func (s *yamlScanner) add(e *yamlEntry) {
	e.next = int32(len(s.entries)) + 1
	s.entries = append(s.entries, *e)
}

// sequence reads the items whose dashes stand in the column of the place.
func (s *yamlScanner) sequence(depth int, e *yamlEntry) {
	e.kind, e.column, e.start = yamlSeq, s.column, s.at
	at, last := len(s.entries), 0
	var item yamlEntry // Out here, so that it does not escape.
	s.entries = append(s.entries, *e)
	for s.fail == yamlFine && s.column == e.column && s.at < len(s.text) && s.isDash() {
		last = len(s.entries)
		if depth < maxYAMLDepth && s.plainItem(e.column) {
			continue
		}
		item = yamlEntry{keyStart: s.at, keyEnd: s.at, behind: s.at + 1, line: s.line}
		end, next := s.endOf(s.at)
		behind := s.at + 1
		if s.onlyComment(behind, end) {
			s.nextLine(next)
			if s.at < len(s.text) && s.column > e.column {
				s.node(depth+1, &item, e.column)
			} else {
				s.empty(&item, behind, next)
			}
			continue
		}
		s.at++
		for s.text[s.at] == ' ' {
			s.at++
		}
		s.column = s.at - s.line
		s.node(depth+1, &item, e.column)
	}
	s.close(at, last)
}

// scalar reads a value that begins on the line of its key or dash, and goes to the next line.
func (s *yamlScanner) scalar(depth int, e *yamlEntry, at, parent int) {
	end, next := s.endOf(at)
	e.start = at
	switch s.text[at] {
	case '"':
		e.kind, e.end = yamlDouble, s.quoted(at, end, '"')
	case '\'':
		e.kind, e.end = yamlSingle, s.quoted(at, end, '\'')
	case '{', '[':
		s.flow(depth, e, end, next, parent)
		return
	case '|', '>':
		s.blockScalar(e, end, next, parent)
		return
	default:
		e.kind, e.end = yamlPlain, s.plain(at, end)
	}
	if e.end < 0 {
		s.doubt()
		return
	}
	s.finish(e, end, next, parent)
}

// finish ends a value that stands on one line.
func (s *yamlScanner) finish(e *yamlEntry, end, next, parent int) {
	if !s.onlyComment(e.end, end) {
		s.doubt()
		return
	}
	e.below = next
	s.add(e)
	s.leave(next, parent)
}

// leave goes to the next line, which must not belong to the value that was read.
func (s *yamlScanner) leave(next, parent int) {
	s.nextLine(next)
	if s.at < len(s.text) && s.column > parent {
		s.doubt()
	}
}
