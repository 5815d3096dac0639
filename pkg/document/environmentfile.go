// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "strings"

// environmentAssignments returns the assignments in an environment file, with quotes and escapes taken out, as systemd reads
// them (src/basic/env-file.c): one in a line, quotes around any part of the value, a backslash before a line break goes on with
// the next line. Lines that begin with # or ; and lines without = are left out.
func environmentAssignments(text string) []string {
	var out []string
	r := environmentReader{text: text}
	for r.at < len(r.text) {
		if name, value, ok := r.line(); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

type environmentReader struct {
	text string
	at   int
}

// line reads a line, with those that go on with its value.
func (r *environmentReader) line() (name, value string, ok bool) {
	r.at += len(r.text[r.at:]) - len(strings.TrimLeft(r.text[r.at:], " \t\r\n"))
	if r.at < len(r.text) && isUnitComment(r.text[r.at]) {
		// A backslash at the end of a comment means nothing since systemd 254.
		r.at += len(r.text[r.at:]) - len(strings.TrimLeftFunc(r.text[r.at:], func(c rune) bool { return c != '\n' && c != '\r' }))
		return "", "", false
	}
	end := strings.IndexAny(r.text[r.at:], "=\r\n")
	if end < 0 {
		r.at = len(r.text)
		return "", "", false
	}
	name = strings.TrimRight(r.text[r.at:r.at+end], " \t")
	r.at += end + 1
	if r.text[r.at-1] != '=' {
		return "", "", false
	}
	return name, r.value(), true
}

// value reads up to the end of the line. White space around parts in quotes and at both ends means nothing.
func (r *environmentReader) value() string {
	var out []byte
	end := 0         // of what counts, without the white space behind it
	inValue := false // outside of quotes, behind a character that is no white space
	for ; r.at < len(r.text) && !isLineBreak(r.text[r.at]); r.at++ {
		switch c := r.text[r.at]; {
		case !inValue && isBlank(c):
		case !inValue && (c == '\'' || c == '"'):
			r.at++
			out = r.quoted(out, c)
			end = len(out)
		case c == '\\':
			inValue = true
			if r.at++; r.at < len(r.text) && !isLineBreak(r.text[r.at]) {
				out = append(out, r.text[r.at])
			}
			end = len(out)
		default:
			inValue = true
			if out = append(out, c); !isBlank(c) {
				end = len(out)
			}
		}
	}
	return string(out[:end])
}

// quoted reads up to the closing quote, at which the reader stays.
func (r *environmentReader) quoted(out []byte, quote byte) []byte {
	for ; r.at < len(r.text) && r.text[r.at] != quote; r.at++ {
		c := r.text[r.at]
		if c != '\\' || quote == '\'' || r.at+1 == len(r.text) {
			out = append(out, c)
			continue
		}
		r.at++
		switch next := r.text[r.at]; {
		case strings.IndexByte("\"\\`$", next) >= 0:
			out = append(out, next)
		case next != '\n':
			out = append(out, c, next)
		}
	}
	return out
}

func isLineBreak(c byte) bool { return c == '\n' || c == '\r' }
