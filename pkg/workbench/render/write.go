// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
)

// Style says how changes are written.
type Style struct {
	// Colour writes ANSI colours. The caller knows whether a terminal reads along and whether NO_COLOR is set.
	Colour bool
	// Width is that of the terminal in characters; 120 when it is 0.
	Width int
	// Context is the number of lines that are shown around changed ones; 1 when it is 0, none when it is negative.
	Context int
	// File shortens the name of a profile's file; without it the last folder and the name are written.
	File func(string) string
	// Title is the heading of a page or a comment, and About describes its input; other formats omit both.
	Title string
	About []report.Fact
	// Head writes About above changes as text, too; Notes are written below changes in every format.
	Head  bool
	Notes []string
}

// Write writes the changes in the given order: changed objects with their differences, denied objects with the reason,
// unchanged objects with one line each, and at the end the names of objects without rules. If the changes belong to
// several scenes, each has a heading.
func (s Style) Write(w io.Writer, changes ...*Change) error {
	s = s.withDefaults()
	all := changes
	var blocks []block
	for len(changes) > 0 {
		var scene []*Change
		scene, changes = ofScene(changes)
		if scene[0].Scene != "" {
			blocks = append(blocks, block{rows: []row{{left: scene[0].Scene, leftTone: colour.Title}}, apart: true})
		}
		blocks = append(blocks, s.scene(scene)...)
	}
	column := s.column(blocks)
	var out strings.Builder
	if s.Head {
		for _, fact := range s.About {
			fmt.Fprintf(&out, "%-8s  %s\n", fact.Name, fact.Value)
		}
		out.WriteByte('\n')
	}
	for i, b := range blocks {
		if i > 0 && (len(b.rows) > 1 || len(blocks[i-1].rows) > 1 || b.apart || blocks[i-1].apart) {
			out.WriteByte('\n')
		}
		for _, r := range b.rows {
			out.WriteString(s.row(r, column))
		}
	}
	if len(blocks) > 0 {
		out.WriteByte('\n')
	}
	out.WriteString(summaryOf(all) + "\n")
	for _, note := range s.Notes {
		out.WriteString("Note: " + note + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// ofScene returns the leading changes of one scene, and the rest.
func ofScene(changes []*Change) (first, rest []*Change) {
	for i, change := range changes {
		if change.Scene != changes[0].Scene {
			return changes[:i], changes[i:]
		}
	}
	return changes, nil
}

// scene returns the blocks of the changes of one scene.
func (s Style) scene(changes []*Change) []block {
	var (
		blocks []block
		others []*Change
	)
	for _, change := range changes {
		b := s.block(change)
		if len(b.rows) == 1 && change.idle() {
			others = append(others, change)
			continue
		}
		blocks = append(blocks, b)
	}
	if len(others) > 0 {
		blocks = append(blocks, s.others(others))
	}
	return blocks
}

// ShortFile returns the last folder of a path with the file name.
func ShortFile(file string) string { return path.Join(path.Base(path.Dir(file)), path.Base(file)) }

func (s Style) withDefaults() Style {
	if s.Width == 0 {
		s.Width = 120
	}
	if s.Context == 0 {
		s.Context = 1
	}
	if s.File == nil {
		s.File = ShortFile
	}
	return s
}

// row is a line of output: text on the left, and on the right where it comes from.
type row struct {
	left, right         string
	leftTone, rightTone colour.Tone
	// clip says that the left text may be cut to keep the columns.
	clip bool
}

type block struct {
	rows []row
	// apart says that empty lines stand around it, also if it is one line.
	apart bool
}

func (s Style) block(c *Change) block {
	sections := Sections(c.Edits(), max(0, s.Context))
	b := block{}
	switch {
	case c.Denied != nil:
		b.rows = append(b.rows, row{left: c.Kind + " " + c.Name, right: cmp.Or(c.Note, "denied"), leftTone: colour.Title, rightTone: colour.Alarm})
		for line := range strings.Lines(c.Denial()) {
			b.rows = append(b.rows, row{left: "    " + strings.TrimSpace(line)})
		}
	case len(sections) == 0:
		b.rows = []row{{left: c.Kind + " " + c.Name, right: unchanged(c), rightTone: colour.Dim}}
		return b
	default:
		b.rows = append(b.rows, row{left: c.Kind + " " + c.Name, right: summary(c), leftTone: colour.Title})
	}
	if len(c.Shoots) > 0 {
		b.rows = append(b.rows, row{left: "    " + strings.Join(c.Shoots, "; "), leftTone: colour.Dim})
	}
	for _, section := range sections {
		b.rows = append(b.rows, row{left: "  " + headingOf(section), leftTone: colour.Heading})
		b.rows = append(b.rows, s.section(section)...)
	}
	for _, applied := range c.Applied {
		if r, ok := s.idle(applied); ok {
			b.rows = append(b.rows, r)
		}
	}
	return b
}

// others lists objects without rules by kind.
func (s Style) others(changes []*Change) block {
	b := block{rows: []row{{left: fmt.Sprintf("no rule is for %s, which stayed as they were", count(len(changes), "object")), leftTone: colour.Dim}}}
	if len(changes) == 1 {
		b.rows[0].left = "no rule is for 1 object, which stayed as it was"
	}
	for i := 0; i < len(changes); {
		kind, line := changes[i].Kind, "  "+changes[i].Kind
		for separator := " "; i < len(changes) && changes[i].Kind == kind; i++ {
			name := separator + changes[i].Name
			if utf8.RuneCountInString(line+name) > s.Width-1 {
				b.rows = append(b.rows, row{left: line + strings.TrimRight(separator, " "), leftTone: colour.Dim})
				line, name = "   ", " "+changes[i].Name
			}
			line, separator = line+name, ", "
		}
		b.rows = append(b.rows, row{left: line, leftTone: colour.Dim})
	}
	return b
}

// section writes the author once for lines that follow each other.
func (s Style) section(section Section) []row {
	var (
		rows []row
		last *Author
	)
	for _, r := range section.Rows {
		if r.Gap {
			rows, last = append(rows, row{left: "    ⋮", leftTone: colour.Dim}), nil
		}
		out := row{left: fmt.Sprintf("  %c %s%s", r.Op, strings.Repeat("  ", r.Indent), r.Line.Text), rightTone: colour.Dim}
		switch r.Op {
		case Added:
			out.leftTone = colour.Added
		case Removed:
			out.leftTone = colour.Removed
		default:
			out.leftTone, out.clip = colour.Dim, true
			if r.Folded {
				out.left += " …"
			}
		}
		if r.By != nil && (last == nil || *last != *r.By) {
			out.right = s.author(*r.By)
			if *r.By == NoRule {
				out.rightTone = colour.Alarm
			}
		}
		last = r.By
		rows = append(rows, out)
	}
	return rows
}

// idle writes a rule that changed nothing, with the reason.
func (s Style) idle(a mutation.Applied) (row, bool) {
	var what string
	switch a.Outcome {
	case mutation.Skipped:
		what = "skipped     " + ruleName(a.Name()) + ": " + a.Reason
	case mutation.Overridden:
		what = "overridden  " + ruleName(a.Name()) + ": by " + a.Reason
	case mutation.Observed:
		what = "observed    " + ruleName(a.Name()) + ": " + a.Reason
	case mutation.Unchanged:
		what = "already so  " + ruleName(a.Name())
	default:
		return row{}, false
	}
	return row{left: "    " + what, right: s.position(a.Position), leftTone: colour.Dim, rightTone: colour.Dim}, true
}

// column returns the start of the right column: after all left texts, unless too little space remains.
func (s Style) column(blocks []block) int {
	left, right := 0, 0
	for _, b := range blocks {
		for _, r := range b.rows {
			if r.right != "" {
				left, right = max(left, utf8.RuneCountInString(r.left)), max(right, utf8.RuneCountInString(r.right))
			}
		}
	}
	return max(48, min(left+3, s.Width-right))
}

func (s Style) row(r row, column int) string {
	left := r.left
	width := utf8.RuneCountInString(left)
	if limit := s.Width; r.clip && width > limit {
		left = string([]rune(left)[:limit-1]) + "…"
	}
	text := s.paint(r.leftTone, left)
	if r.right != "" {
		text += strings.Repeat(" ", max(2, column-width)) + s.paint(r.rightTone, r.right)
	}
	return strings.TrimRight(text, " ") + "\n"
}

func (s Style) paint(t colour.Tone, text string) string { return t.Paint(s.Colour, text) }
