// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

// yamlWordBytes are the bytes of which keys and values are made that mean nothing else in YAML wherever they stand, if neither a dash
// nor a dot is the first.
var yamlWordBytes = func() (set [256]bool) {
	for c := range 256 {
		set[c] = isWordByte(byte(c)) || c == '-' || c == '%' || c == '+'
	}
	return set
}()

// plainWord returns where a row of yamlWordBytes ends that can stand as a scalar, -1 if none begins at the offset.
func (s *yamlScanner) plainWord(at int) int {
	i := at
	for i < len(s.text) && yamlWordBytes[s.text[i]] {
		i++
	}
	if i == at || s.text[at] == '-' || s.text[at] == '.' || s.text[at] == '%' {
		return -1
	}
	return i
}

// plainMember reads a member of a mapping in a column whose line is a word, a colon, a space and a word, as most are. It is false for
// any other, of which it has read nothing. What it finds is what key and member find.
func (s *yamlScanner) plainMember(keys *yamlKeys, column int) bool {
	colon := s.plainWord(s.at)
	if colon < 0 || colon-s.at > 512 || colon+2 >= len(s.text) || s.text[colon] != ':' || s.text[colon+1] != ' ' {
		return false
	}
	end := s.plainWord(colon + 2)
	if end < 0 || end == len(s.text) || s.text[end] != '\n' {
		return false
	}
	if keys.seen(s, s.text[s.at:colon]) {
		s.stop(yamlDuplicate)
		return true
	}
	s.entries = append(s.entries, yamlEntry{
		keyStart: s.at, keyEnd: colon, behind: colon + 1, start: colon + 2, end: end, line: s.line, below: end + 1,
		next: int32(len(s.entries)) + 1, kind: yamlPlain,
	})
	s.leavePlain(end+1, column)
	return true
}

// plainItem is plainMember for an item of a sequence: a dash, a space and a word.
func (s *yamlScanner) plainItem(column int) bool {
	start := s.at + 2
	if start >= len(s.text) || s.text[start-1] != ' ' {
		return false
	}
	end := s.plainWord(start)
	if end < 0 || end == len(s.text) || s.text[end] != '\n' {
		return false
	}
	s.entries = append(s.entries, yamlEntry{
		keyStart: s.at, keyEnd: s.at, behind: s.at + 1, start: start, end: end, line: s.line, below: end + 1,
		next: int32(len(s.entries)) + 1, kind: yamlPlain,
	})
	s.leavePlain(end+1, column)
	return true
}

// leavePlain is leave for the line that begins at an offset, which is seldom blank or a comment.
func (s *yamlScanner) leavePlain(next, parent int) {
	from := next
	for from < len(s.text) && s.text[from] == ' ' {
		from++
	}
	if from == len(s.text) || s.text[from] == '\n' || s.text[from] == '\r' || s.text[from] == '#' {
		s.leave(next, parent)
		return
	}
	if s.at, s.line, s.column = from, next, from-next; s.column > parent {
		s.doubt()
	}
}
