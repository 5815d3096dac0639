// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import "strings"

// With is the text with a sample in place of each expression; it is for checks of texts whose values are not known yet.
func (t *Template) With(sample string) string {
	var text strings.Builder
	for _, part := range t.parts {
		if part.program == nil {
			text.WriteString(part.literal)
			continue
		}
		text.WriteString(sample)
	}
	return text.String()
}
