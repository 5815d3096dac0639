// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// identity is the uid and the dialect of a request. Fields that could not be read are empty.
type identity struct {
	dialect *dialect
	uid     string
}

// token matches a string, with the colon after a key, or a bracket.
var token = regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"(\s*:)?|[{}\[\]]`)

// identify finds the uid and the dialect in bodies that are truncated, invalid JSON, or have values of wrong
// types: it follows brackets and strings only, to the first kind and uid. Without a uid, Karmada reports a uid
// mismatch instead of the actual problem.
func identify(body []byte) identity {
	var (
		kind, uid string
		depth     int
		keys      [3]string // the current key at each depth
	)
	for at := token.FindIndex(body); at != nil && (kind == "" || uid == ""); at = token.FindIndex(body) {
		text, isKey := bytes.CutSuffix(body[at[0]:at[1]], []byte(":"))
		body = body[at[1]:]
		switch {
		case bytes.ContainsAny(text[:1], "{["):
			if depth++; depth < len(keys) {
				keys[depth] = "" // #nosec G602 -- depth is below the length
			}
		case bytes.ContainsAny(text[:1], "}]"):
			depth = max(depth-1, 0)
		case isKey && depth < len(keys):
			keys[depth] = unquote(text)
		case isKey:
		case depth == 1 && keys[1] == "kind" && kind == "":
			kind = unquote(text)
		case depth == 2 && keys[1] == "request" && keys[2] == "uid" && uid == "":
			uid = unquote(text)
		}
	}
	return identity{dialects[kind], uid}
}

// unquote decodes a JSON string. It returns "" if raw is none.
func unquote(raw []byte) string {
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}
