// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"slices"
)

// identity is the uid and the dialect of a request. Fields that could not be read are empty.
type identity struct {
	dialect *dialect
	uid     string
}

// identify finds the uid and the dialect in bodies that are truncated, invalid JSON, or have values of wrong
// types: it follows braces and strings only. Without a uid, Karmada reports a uid mismatch instead of the
// actual problem.
func identify(body []byte) identity {
	var in place
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			in.depth++
			in.name("")
		case '}', ']':
			in.depth = max(in.depth-1, 0)
		case ',':
			in.name("")
		case '"':
			end := endOfString(body, i)
			if end < 0 {
				return in.found
			}
			if raw := body[i:end]; isKey(body[end:]) {
				in.name(unquote(raw))
			} else {
				in.take(raw)
			}
			i = end - 1
		}
	}
	return in.found
}

// place is a position in a message, with the identity found up to it.
type place struct {
	found identity
	depth int
	// outer is the current key at depth 1, inner the one at depth 2.
	outer, inner string
}

// name stores the key of the current member; "" means not yet known. Keys at greater depths are ignored.
func (p *place) name(key string) {
	switch p.depth {
	case 1:
		p.outer = key
	case 2:
		p.inner = key
	}
}

// take stores a string value if it is the kind or the uid. The first of each counts.
func (p *place) take(raw []byte) {
	switch {
	case p.depth == 1 && p.outer == "kind" && p.found.dialect == nil:
		p.found.dialect = dialects[unquote(raw)]
	case p.depth == 2 && p.outer == "request" && p.inner == "uid" && p.found.uid == "":
		p.found.uid = unquote(raw)
	}
}

// endOfString returns the index after the closing quote of the string that begins at start, or -1 if it is not
// closed.
func endOfString(body []byte, start int) int {
	for i := start + 1; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// isKey reports whether the text after a string shows that the string was a key.
func isKey(rest []byte) bool {
	i := slices.IndexFunc(rest, func(b byte) bool { return b != ' ' && b != '\t' && b != '\n' && b != '\r' })
	return i >= 0 && rest[i] == ':'
}

// unquote decodes a JSON string. It returns "" if raw is none.
func unquote(raw []byte) string {
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}
