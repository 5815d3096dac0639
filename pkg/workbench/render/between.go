// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"

// Between returns the difference between two results of one object. The author of a line is the rule that wrote or
// removed it, on either side. It hides everything that either of them hides.
func Between(from, to *Change) (*Change, error) {
	c, err := NewChange(from.current)
	if err != nil {
		return nil, err
	}
	c.veil.copy(from.veil)
	c.veil.copy(to.veil)
	was, is := from.authors(), to.authors()
	err = c.become(to.current, func(lines []Line) {
		c.blame.advance(lines, func(line Line) *Author {
			key := lineKey{line.Path, line.Text}
			for _, known := range []map[lineKey]*Author{is.added, was.added, is.removed, was.removed} {
				if author := known[key]; author != nil {
					return author
				}
			}
			nobody := NoRule
			return &nobody
		})
	})
	return c, err
}

type lineKey struct{ path, text string }

// authorship says who has added and removed lines.
type authorship struct{ added, removed map[lineKey]*Author }

func (c *Change) authors() authorship {
	a := authorship{map[lineKey]*Author{}, map[lineKey]*Author{}}
	for _, edit := range c.blame.Edits() {
		switch edit.Op {
		case Added:
			a.added[lineKey{edit.Line.Path, edit.Line.Text}] = edit.By
		case Removed:
			a.removed[lineKey{edit.Line.Path, edit.Line.Text}] = edit.By
		}
	}
	return a
}

// Heading returns a headline for several changes.
func (s Style) Heading(text string) string { return s.paint(colour.Title, text) }
