// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
)

// identity is the uid and the dialect of a request. Fields that could not be read are empty.
type identity struct {
	dialect *dialect
	uid     string
}

// level is an object or a list around a token. key is the current key of an object, and named is true between
// the key and its value.
type level struct {
	object, named bool
	key           string
}

// identify finds the uid and the dialect in bodies that are truncated, invalid JSON, or have values of wrong
// types: it reads tokens up to the first error. Without a uid, Karmada reports a uid mismatch instead of the
// actual problem.
func identify(body []byte) (found identity) {
	tokens := json.NewDecoder(bytes.NewReader(body))
	in := []level{{}}
	for {
		token, err := tokens.Token()
		if err != nil {
			return found
		}
		top := &in[len(in)-1]
		switch value := token.(type) {
		case json.Delim:
			if value == '{' || value == '[' {
				in = append(in, level{object: value == '{'})
				continue
			}
			in = in[:len(in)-1]
			top = &in[len(in)-1]
		case string:
			if top.object && !top.named {
				top.key, top.named = value, true
				continue
			}
			found.take(in[1:], value)
		}
		top.named = false
	}
}

// take stores a string value if it is the kind or the uid. The first of each counts.
func (i *identity) take(in []level, value string) {
	switch {
	case len(in) == 1 && in[0].key == "kind" && i.dialect == nil:
		i.dialect = dialects[value]
	case len(in) == 2 && in[0].key == "request" && in[1].key == "uid" && i.uid == "":
		i.uid = value
	}
}
