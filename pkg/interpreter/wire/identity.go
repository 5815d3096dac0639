// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package wire

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
	var (
		found identity
		depth int
		keys  [3]string // of the members in which it is: of the message, and of its request
	)
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			depth++
			if depth < len(keys) {
				keys[depth] = ""
			}
		case '}', ']':
			depth = max(depth-1, 0)
		case ',':
			if depth < len(keys) {
				keys[depth] = ""
			}
		case '"':
			end := endOfString(body, i)
			if end < 0 {
				return found
			}
			raw := body[i:end]
			i = end - 1
			switch {
			case depth == 0 || depth >= len(keys):
			case isKey(body[end:]):
				keys[depth] = unquote(raw)
			case depth == 1 && keys[1] == "kind" && found.dialect == nil:
				found.dialect = dialects[unquote(raw)]
			case depth == 2 && keys[1] == "request" && keys[2] == "uid" && found.uid == "":
				found.uid = unquote(raw)
			}
		}
	}
	return found
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
