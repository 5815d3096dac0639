// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"znkr.io/diff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Author is who changed a line.
type Author struct {
	// Rule and Profile are the names of the rule and its profile; Profile is empty for changes by the engine or another
	// author.
	Rule, Profile string
	// Position is the position of the rule, or zero if there is no rule.
	Position source.Position
}

// NoRule is the author of changes without a rule; it is highlighted in the output.
var NoRule = Author{Rule: "no rule"}

// Op is the state of a line in a comparison.
type Op byte

// The states of a line.
const (
	Same    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
)

// Edit is a line of the change, with who made it.
type Edit struct {
	Op   Op
	Line Line
	// By is nil for lines that are the same.
	By *Author
}

// Blame follows the lines of an object from one state to the next.
type Blame struct {
	before []Line
	// removed holds the author of each removed line of before, or nil for existing lines.
	removed []*Author
	now     []tracked
}

// tracked is a line of the current state: line origin of before, or written by an author.
type tracked struct {
	line   Line
	origin int
	by     *Author
}

// NewBlame begins with the lines of the first state.
func NewBlame(before []Line) *Blame {
	b := &Blame{before: before, removed: make([]*Author, len(before)), now: make([]tracked, len(before))}
	for i, line := range before {
		b.now[i] = tracked{line: line, origin: i}
	}
	return b
}

// Advance records the next state and attributes all differences to the author.
func (b *Blame) Advance(by Author, after []Line) {
	b.advance(after, func(Line) *Author { return &by })
}

// Complete records the next state after additions to the previous one, such as defaults: a line at or below a place
// with an author belongs to that author, and all other differences to the given one.
func (b *Blame) Complete(by Author, after []Line) {
	written := map[string]*Author{}
	for _, t := range b.now {
		if t.origin < 0 && written[t.line.Path] == nil {
			written[t.line.Path] = t.by
		}
	}
	b.advance(after, func(line Line) *Author {
		for path := line.Path; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
			if author := written[path]; author != nil {
				return author
			}
		}
		return &by
	})
}

func (b *Blame) advance(after []Line, author func(Line) *Author) {
	current := make([]Line, len(b.now))
	for i := range b.now {
		current[i] = b.now[i].line
	}
	next := make([]tracked, 0, len(after))
	for _, edit := range diff.Edits(current, after, diff.Minimal()) {
		switch edit.Op {
		case diff.Match:
			next = append(next, b.now[edit.PosX])
		case diff.Insert:
			next = append(next, tracked{line: edit.Y, origin: -1, by: author(edit.Y)})
		case diff.Delete:
			if origin := b.now[edit.PosX].origin; origin >= 0 {
				b.removed[origin] = author(edit.X)
			}
		}
	}
	b.now = next
}

// Edits returns all lines of the first and the current state in one sequence. Reverted changes count as unchanged.
func (b *Blame) Edits() []Edit {
	var (
		edits []Edit
		block change
		old   int
	)
	remove := func(until int) {
		for ; old < until; old++ {
			block.removed = append(block.removed, Edit{Removed, b.before[old], b.removed[old]})
		}
	}
	for _, t := range b.now {
		if t.origin < 0 {
			block.added = append(block.added, Edit{Added, t.line, t.by})
			continue
		}
		remove(t.origin)
		edits = append(block.appendTo(edits), Edit{Op: Same, Line: t.line})
		block, old = change{}, t.origin+1
	}
	remove(len(b.before))
	return block.appendTo(edits)
}

// change holds the lines between two unchanged lines.
type change struct{ removed, added []Edit }

// appendTo appends the change in the most readable order, without the lines in both parts.
func (c change) appendTo(edits []Edit) []Edit {
	x, y := linesOf(c.removed), linesOf(c.added)
	var part change
	for _, edit := range diff.Edits(x, y, diff.Minimal()) {
		switch edit.Op {
		case diff.Match:
			edits = append(part.paired(edits), Edit{Op: Same, Line: edit.X})
			part = change{}
		case diff.Delete:
			part.removed = append(part.removed, c.removed[edit.PosX])
		case diff.Insert:
			part.added = append(part.added, c.added[edit.PosY])
		}
	}
	return part.paired(edits)
}

// paired writes removed lines and then added ones, or one after the other where both are values of the same places.
func (c change) paired(edits []Edit) []Edit {
	pairs := len(c.removed) == len(c.added)
	for i := 0; pairs && i < len(c.removed); i++ {
		pairs = c.removed[i].Line.Path == c.added[i].Line.Path && c.removed[i].Line.Depth == c.added[i].Line.Depth
	}
	if !pairs {
		return append(append(edits, c.removed...), c.added...)
	}
	for i := range c.removed {
		edits = append(edits, c.removed[i], c.added[i])
	}
	return edits
}

func linesOf(edits []Edit) []Line {
	lines := make([]Line, len(edits))
	for i := range edits {
		lines[i] = edits[i].Line
	}
	return lines
}
