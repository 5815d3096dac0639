// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "strings"

// rescan indexes a text that splices have made of the one before. Where they are one that gives a member another scalar on its line,
// it reads that line alone; the rest stands where it stood, or as far behind as the line has become longer.
func (y *YAML) rescan(text string, splices []splice) ([]yamlEntry, bool) {
	if len(splices) == 1 {
		if entries, ok := y.rescanLine(text, splices[0]); ok {
			return entries, true
		}
	}
	entries, doubt, _ := scanYAML(text, y.fresh(text))
	return entries, doubt == yamlFine
}

// rescanLine is rescan for one splice. It is false unless scanYAML would find the same: what the scanner makes of a line depends on the
// line itself, on the column of the mapping, and on where the next line with content begins.
func (y *YAML) rescanLine(text string, s splice) ([]yamlEntry, bool) {
	if s.text == "" || strings.ContainsAny(s.text, "\r\n#") || !yamlCharacters(s.text) {
		return nil, false
	}
	parent, at := y.scalarAt(s)
	if at < 0 {
		return nil, false
	}
	entries := append(y.fresh(text), y.entries...)
	for i := range entries {
		entries[i].move(s.end, len(s.text)-(s.end-s.start))
	}
	m, column := &entries[at], entries[parent].column
	scanner := yamlScanner{
		text: text, at: m.keyStart, line: m.line, column: column, remarks: strings.IndexByte(text, '#') >= 0,
		entries: y.room.yaml.take(1)[:0],
	}
	scanner.found.end = -1
	_, end, colon := scanner.key()
	if end != m.keyEnd || colon+1 != m.behind {
		return nil, false
	}
	scanner.member(0, &yamlEntry{keyStart: m.keyStart, keyEnd: end, behind: m.behind, line: m.line}, m.behind, column)
	if scanner.fail != yamlFine || len(scanner.entries) != 1 || !scanner.entries[0].onLine() {
		return nil, false
	}
	m.kind = scanner.entries[0].kind
	scanner.entries[0].next = m.next
	return entries, scanner.entries[0] == *m
}

// scalarAt finds the member of a mapping of lines whose value a splice replaces, and the mapping; -1 if it is none or no scalar on
// its line.
func (y *YAML) scalarAt(s splice) (parent, at int) {
	for at = 0; y.entries[at].kind == yamlMap || y.entries[at].kind == yamlSeq; {
		parent = at
		for at++; at < int(y.entries[parent].next) && y.entries[at].end <= s.start; {
			at = int(y.entries[at].next)
		}
		if at >= int(y.entries[parent].next) {
			return parent, -1
		}
	}
	e := &y.entries[at]
	if y.entries[parent].kind != yamlMap || at == parent || !e.onLine() || e.start != s.start || e.end != s.end {
		return parent, -1
	}
	return parent, at
}

// onLine reports whether the entry is a scalar on the line of its key.
func (e *yamlEntry) onLine() bool {
	return e.kind == yamlPlain || e.kind == yamlDouble || e.kind == yamlSingle
}

// move moves what stands at an offset or behind.
func (e *yamlEntry) move(from, delta int) {
	for _, at := range []*int{&e.keyStart, &e.keyEnd, &e.behind, &e.start, &e.end, &e.line, &e.below} {
		if *at >= from {
			*at += delta
		}
	}
}
