// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import "strings"

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
	// Gap says that lines are left out before this one.
	Gap bool
	// Folded means that the line has hidden lines below it.
	Folded bool
}

// Sections groups the edits that change something under the innermost line above them that stayed, each with as many
// neighbouring lines as context says. The order is that of the object.
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
