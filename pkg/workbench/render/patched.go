// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"io"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// Patched writes the changes of an object, given as JSON, line by line and with its status. The caller names their
// author. Each line starts with the indentation; nothing is written if the object is unchanged.
func (s Style) Patched(w io.Writer, before, after []byte, indentation string) error {
	s = s.withDefaults()
	was, err := WholeText(before)
	if err != nil {
		return err
	}
	is, err := WholeText(after)
	if err != nil {
		return err
	}
	blame := NewBlame(was)
	blame.advance(is, func(Line) *Author { return nil })
	var out strings.Builder
	for _, part := range Sections(blame.Edits(), max(0, s.Context)) {
		out.WriteString(indentation + s.paint(colour.Heading, headingOf(part)) + "\n")
		for _, r := range s.section(part) {
			r.left = indentation + r.left
			out.WriteString(s.row(r, 0))
		}
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// Remark returns a text in the style of a remark.
func (s Style) Remark(text string) string { return s.paint(colour.Dim, text) }
