// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "strings"

// splice replaces a part of a text.
type splice struct {
	start, end int
	text       string
}

// spliced applies splices that stand in order and do not overlap.
func spliced(text string, splices []splice) string {
	size := len(text)
	for _, s := range splices {
		size += len(s.text) - (s.end - s.start)
	}
	var out strings.Builder
	out.Grow(size)
	at := 0
	for _, s := range splices {
		out.WriteString(text[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.WriteString(text[at:])
	return out.String()
}
