// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"slices"
)

// identity is who asks, and in which dialect; what cannot be read is empty.
type identity struct {
	dialect *dialect
	uid     string
}

// identify finds out who asks, in bodies that are cut off, are no JSON further on, or have values of wrong types: it follows braces and strings only.
// Without a uid, Karmada says that it does not fit, and not what went wrong.
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

// place is where in a message something stands, and what was found before.
type place struct {
	found identity
	depth int
	// outer is the key of the message's member, and inner that of the member in it.
	outer, inner string
}

// name remembers the key of the member that begins; empty: it is not known yet. Further inside, keys do not matter.
func (p *place) name(key string) {
	switch p.depth {
	case 1:
		p.outer = key
	case 2:
		p.inner = key
	}
}

// take takes a string that is the kind or the uid; the first of each counts.
func (p *place) take(raw []byte) {
	switch {
	case p.depth == 1 && p.outer == "kind" && p.found.dialect == nil:
		p.found.dialect = dialects[unquote(raw)]
	case p.depth == 2 && p.outer == "request" && p.inner == "uid" && p.found.uid == "":
		p.found.uid = unquote(raw)
	}
}

// endOfString is where a string ends that begins at a quote, behind its last one; -1: it does not.
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

// isKey says whether what was before is the key of a member.
func isKey(rest []byte) bool {
	i := slices.IndexFunc(rest, func(b byte) bool { return b != ' ' && b != '\t' && b != '\n' && b != '\r' })
	return i >= 0 && rest[i] == ':'
}

// unquote decodes a string; empty where it cannot be.
func unquote(raw []byte) string {
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}
