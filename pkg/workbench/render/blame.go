// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"strings"

	"znkr.io/diff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Author is who changed a line.
type Author struct {
	// Rule and Profile are the names of the rule and its profile; Profile is empty for changes by the engine or another
	// author.
	Rule    string `json:"rule,omitempty"`
	Profile string `json:"profile,omitempty"`
	// Position is the position of the rule, or zero if there is no rule.
	Position source.Position `json:"position,omitzero"`
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

// Section contains the changes below one unchanged line.
type Section struct {
	// Path is the place of that line; empty for the object itself.
	Path string
	Rows []Row
}

// Row is a line of a section.
type Row struct {
	Edit
	// Indent counts the steps of indentation below the section's heading.
	Indent int
	// Gap reports that lines are left out before this one.
	Gap bool
	// Folded means that the line has hidden lines below it.
	Folded bool
}

// Heading returns the place of the section in words.
func (s Section) Heading() string { return cmp.Or(s.Path, "the object") }

// Run is rows that follow each other and have the same author, or none.
type Run struct {
	By   *Author
	Rows []Row
}

// Runs returns the rows by author. A gap also begins a run.
func (s Section) Runs() []Run {
	var runs []Run
	for _, row := range s.Rows {
		last := len(runs) - 1
		if last < 0 || row.Gap || (runs[last].By == nil) != (row.By == nil) || row.By != nil && *runs[last].By != *row.By {
			runs = append(runs, Run{By: row.By})
			last++
		}
		runs[last].Rows = append(runs[last].Rows, row)
	}
	return runs
}

// String returns the row with its indentation.
func (r Row) String() string {
	text := strings.Repeat("  ", r.Indent) + r.Line.Text
	if r.Folded {
		text += " …"
	}
	return text
}

// Sections groups the edits that change something under the innermost line above them that stayed, each with as many
// context neighbouring lines. They have the order of the object.
func Sections(edits []Edit, context int) []Section {
	headings := headingsOf(edits)
	var order []int
	below := map[int][]int{}
	changed := map[int]bool{}
	for i, heading := range headings {
		below[heading] = append(below[heading], i)
		if edits[i].Op != Same && !changed[heading] {
			changed[heading] = true
			order = append(order, heading)
		}
	}
	sections := make([]Section, 0, len(order))
	for _, heading := range order {
		section := Section{}
		depth := 0
		if heading >= 0 {
			section.Path, depth = edits[heading].Line.Path, edits[heading].Line.Depth+1
		}
		section.Rows = rows(edits, below[heading], context, depth)
		sections = append(sections, section)
	}
	return sections
}

// rows returns the changed lines below a heading, with their neighbours.
func rows(edits []Edit, below []int, context, depth int) []Row {
	near := make([]bool, len(below))
	for i, at := range below {
		if edits[at].Op == Same {
			continue
		}
		for j := max(0, i-context); j <= min(len(below)-1, i+context); j++ {
			near[j] = near[j] || edits[below[j]].Op != Same || !headOnly(edits, below[j])
		}
	}
	var rows []Row
	gap := false
	for i, at := range below {
		if !near[i] {
			gap = gap || !headOnly(edits, at)
			continue
		}
		rows = append(rows, Row{
			Edit: edits[at], Indent: max(0, edits[at].Line.Depth-depth), Gap: gap && len(rows) > 0,
			Folded: folded(edits, at),
		})
		gap = false
	}
	return rows
}

// folded reports whether an unchanged line has further lines below it.
func folded(edits []Edit, at int) bool {
	return edits[at].Op == Same && at+1 < len(edits) && edits[at+1].Line.Depth > edits[at].Line.Depth
}

// headOnly reports whether an unchanged line is the first line of a member: unlike an item of a list, it is useless as
// context.
func headOnly(edits []Edit, at int) bool {
	return folded(edits, at) && !strings.HasPrefix(edits[at].Line.Text, "- ")
}

// headingsOf finds for each line the innermost line above it that stayed; -1 where there is none.
func headingsOf(edits []Edit) []int {
	var (
		headings = make([]int, len(edits))
		old, now []int
	)
	for i, edit := range edits {
		stack := &now
		if edit.Op == Removed {
			stack = &old
		}
		parent := climb(edits, stack, edit.Line.Depth)
		if edit.Op == Same {
			climb(edits, &old, edit.Line.Depth)
			old = append(old, i)
		}
		for parent >= 0 && edits[parent].Op != Same {
			parent = headings[parent]
		}
		headings[i] = parent
		*stack = append(*stack, i)
	}
	return headings
}

// climb takes lines off the stack until one is above the depth, and returns it, or -1.
func climb(edits []Edit, stack *[]int, depth int) int {
	for n := len(*stack); n > 0; n-- {
		if top := (*stack)[n-1]; edits[top].Line.Depth < depth {
			return top
		}
		*stack = (*stack)[:n-1]
	}
	return -1
}

// Between returns the difference between two results of one object. The author of a line is the rule that wrote or
// removed it, on either side. It hides everything that either of them hides. It fails if one of them is not a JSON
// object.
func Between(from, to *Change) (*Change, error) {
	c, err := NewChange(from.current)
	if err != nil {
		return nil, err
	}
	c.redactor.copy(from.redactor)
	c.redactor.copy(to.redactor)
	// On either side, the rule that wrote a line is more important than one that removed it.
	authors := map[Line]*Author{}
	for _, op := range []Op{Removed, Added} {
		for _, side := range []*Change{from, to} {
			for _, edit := range side.blame.Edits() {
				if edit.Op == op {
					authors[edit.Line.key()] = edit.By
				}
			}
		}
	}
	err = c.become(to.current, func(lines []Line) {
		c.blame.advance(lines, func(line Line) *Author {
			if author := authors[line.key()]; author != nil {
				return author
			}
			none := NoRule
			return &none
		})
	})
	return c, err
}

// key returns the path and the text of the line only.
func (l Line) key() Line { return Line{Path: l.Path, Text: l.Text} }
