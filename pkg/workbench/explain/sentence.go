// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence makes a summary that begins with a plain word a sentence: with a capital and a full stop.
func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) {
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	if !strings.ContainsAny(text[len(text)-1:], ".:?!") {
		text += "."
	}
	return text
}
