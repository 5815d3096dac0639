// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"math/bits"
	"strings"
)

// unitLine is a section header or an assignment, with all the lines that it is continued on.
type unitLine struct {
	name        string // of the section or the option
	start, end  int    // bytes, with the line ending
	first, last int    // the value without the white space and the continuations around it; where it goes, if empty
	section     int    // index of the header that it stands under
	header      bool
	continued   bool // on several lines
	open        bool // the text ends where another line is expected
}

// scanUnit makes one pass over the text and appends its lines. Blank lines and comments have no entry.
func scanUnit(text string, lines []unitLine) ([]unitLine, error) {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return nil, fmt.Errorf("line %d has a NUL: %w", lineNumber(text, at), ErrUnit)
	}
	section := -1
	for at := len(text) - len(strings.TrimPrefix(text, "\uFEFF")); at < len(text); {
		l, kind := scanUnitLine(text, at)
		at = l.end
		if kind == blankLine {
			continue
		}
		if kind != goodLine {
			return nil, fmt.Errorf("line %d %s: %w", lineNumber(text, l.start), kind, ErrUnit)
		}
		if l.header {
			section = len(lines)
		} else if section < 0 {
			return nil, fmt.Errorf("line %d stands outside of a section: %w", lineNumber(text, l.start), ErrUnit)
		}
		l.section = section
		lines = append(lines, l)
	}
	return lines, nil
}

// lineKind says what a line is, or what is wrong with it.
type lineKind string

const (
	goodLine  lineKind = "is good"
	blankLine lineKind = "is blank"
	noName    lineKind = `has no "="`
	noHeader  lineKind = "is no section header"
)

// scanUnitLine reads the line that begins at an offset, with those that continue it.
func scanUnitLine(text string, at int) (unitLine, lineKind) {
	l := unitLine{start: at}
	end, next := endOfLine(text, at)
	from := skipBlank(text, at, end)
	l.end = next
	if from == end || isUnitComment(text[from]) {
		return l, blankLine
	}
	l.continued = endsInBackslash(text[from:end])
	if text[from] == '[' {
		return l.scanHeader(text, from, end)
	}
	equals := strings.IndexByte(text[from:end], '=')
	if equals <= 0 {
		return l, noName
	}
	l.name = strings.TrimRight(text[from:from+equals], blanks)
	l.scanValue(text, from+equals+1, end)
	return l, goodLine
}

func (l *unitLine) scanHeader(text string, from, end int) (unitLine, lineKind) {
	body := strings.TrimRight(text[from:end], blanks)
	if len(body) < 2 || l.continued || strings.IndexByte(body, ']') != len(body)-1 {
		return *l, noHeader
	}
	l.header, l.name, l.first, l.last = true, body[1:len(body)-1], from, end
	return *l, goodLine
}

// scanValue finds where the value begins and ends; end is that of the first line.
func (l *unitLine) scanValue(text string, from, end int) {
	l.first, l.last = from, from
	for more := l.continued; ; {
		stop := end
		if more {
			stop-- // the backslash
		}
		if begin := skipBlank(text, from, stop); begin < stop {
			if l.first == l.last {
				l.first = begin
			}
			l.last = begin + len(strings.TrimRight(text[begin:stop], blanks))
		}
		if !more {
			return
		}
		if from, end, l.end = nextPart(text, l.end); from == len(text) {
			l.open = true
			return
		}
		more = endsInBackslash(text[from:end])
	}
}

// nextPart returns the next line from an offset that is no comment: where it begins and ends, and where the one
// behind it begins. At the end of the text it is empty.
func nextPart(text string, at int) (from, end, next int) {
	for {
		end, next = endOfLine(text, at)
		if from = skipBlank(text, at, end); from == end || !isUnitComment(text[from]) {
			return at, end, next
		}
		at = next
	}
}

// joinLines returns a value that is written on several lines as one. It begins and ends within the lines.
func joinLines(raw string) string {
	out := make([]byte, 0, len(raw))
	from := 0
	end, next := endOfLine(raw, 0)
	for next > end {
		out = append(append(out, raw[from:end-1]...), ' ')
		from, end, next = nextPart(raw, next)
	}
	return string(append(out, raw[from:end]...))
}

// blanks is white space within a line.
const blanks = " \t"

// endOfLine returns where the line at an offset ends, and where the next one begins. As for systemd
// (src/basic/fileio.c, read_line), LF, CR, CRLF and LFCR each end one line.
func endOfLine(text string, at int) (end, next int) {
	end = at
	for ; end+8 <= len(text); end += 8 {
		w := word8(text[end:])
		feed, carriage := w^('\n'*ones), w^('\r'*ones)
		if stop := ((feed-ones)&^feed | (carriage-ones)&^carriage) & highs; stop != 0 {
			end += bits.TrailingZeros64(stop) >> 3
			break
		}
	}
	for ; end < len(text); end++ {
		if c := text[end]; c == '\n' || c == '\r' {
			next = end + 1
			if next < len(text) && text[next] == '\n'^'\r'^c {
				next++
			}
			return end, next
		}
	}
	return end, end
}

// word8 returns the first eight bytes of a text as scanner.text takes them.
func word8(text string) uint64 {
	_ = text[7]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

func skipBlank(text string, at, end int) int {
	for at < end && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func isUnitComment(c byte) bool { return c == '#' || c == ';' }

// endsInBackslash reports whether a line goes on: an even number of backslashes are escaped ones.
func endsInBackslash(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// lineNumber returns the number of the line that holds an offset, counted from 1.
func lineNumber(text string, offset int) int {
	number := 1
	for _, next := endOfLine(text, 0); next <= offset && next < len(text); _, next = endOfLine(text, next) {
		number++
	}
	return number
}
