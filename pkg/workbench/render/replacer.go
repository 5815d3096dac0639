// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// replacer replaces texts: at each place the longest match, and nothing inside of a replacement. The longest texts come
// first.
type replacer []mask

// with returns the replacer with further texts.
func (r replacer) with(pieces map[string]string) replacer {
	if len(pieces) == 0 {
		return r
	}
	return r.and(pieces, false)
}

// here returns the replacer with further texts that are replaced only in the place where a rule wrote them.
func (r replacer) here(pieces map[string]string) replacer {
	if len(pieces) == 0 {
		return r
	}
	return r.and(pieces, true)
}

func (r replacer) and(pieces map[string]string, place bool) replacer {
	all := slices.Clone(r)
	for _, piece := range slices.Sorted(maps.Keys(pieces)) {
		if piece != "" {
			all = append(all, mask{piece, pieces[piece], place})
		}
	}
	slices.SortStableFunc(all, func(a, b mask) int { return cmp.Compare(len(b.text), len(a.text)) })
	return all
}

func (r replacer) replace(text string) string {
	var out strings.Builder
	for rest := 0; ; {
		first, found := len(text), mask{}
		for _, m := range r {
			if at := m.in(text, rest); at >= 0 && at < first {
				first, found = at, m
			}
		}
		if found.text == "" {
			if rest == 0 {
				return text
			}
			return out.String() + text[rest:]
		}
		out.WriteString(text[rest:first] + found.shown)
		rest = first + len(found.text)
	}
}

const (
	// wordy is the length below which a text is hidden only as a separate word, because words contain any letter.
	wordy = 6
	// telling is the length from which a text of letters is not a word of a natural language.
	telling = 16
)

// here returns the mask for the place where a rule wrote it.
func (m mask) here() mask { return mask{m.text, m.shown, true} }

// in returns the index of the mask's text after a position, or -1. A short text must not be part of a word. Outside of
// the place where a rule wrote it, a natural word must also not be part of a name.
func (m mask) in(text string, from int) int {
	if m.text == "" {
		return -1
	}
	word := strings.Trim(strings.ToLower(m.text), "abcdefghijklmnopqrstuvwxyz") == ""
	anywhere := len(m.text) >= telling || len(m.text) >= wordy && (m.place || !word)
	for at := from; at < len(text); at++ {
		next := strings.Index(text[at:], m.text)
		if next < 0 {
			return -1
		}
		at += next
		end := at + len(m.text)
		if anywhere || !isWordByte(text, at-1) && !isWordByte(text, end) && (m.place || !inName(text, at-1, -1) && !inName(text, end, 1)) {
			return at
		}
	}
	return -1
}

func isWordByte(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	b := text[at]
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

// inName reports whether the byte joins a word to another one, or starts a flag.
func inName(text string, at, step int) bool {
	return at >= 0 && at < len(text) && strings.IndexByte("-./", text[at]) >= 0 && (text[at] == '-' || isWordByte(text, at+step))
}
