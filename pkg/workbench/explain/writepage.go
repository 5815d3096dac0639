// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// writePage writes a page as text.
func (s Style) writePage(w io.Writer, p *Page) error {
	s = s.withDefaults()
	var out strings.Builder
	width := 0
	for _, head := range p.Heads {
		width = max(width, len(head.Name)+1)
	}
	for _, head := range p.Heads {
		out.WriteString(s.hang(s.paint(colour.Title, pad(head.Name+":", width)+"  "), width+2, head.Text))
	}
	if p.Text != "" {
		if len(p.Heads) > 0 {
			out.WriteString("\n" + s.paint(colour.Title, "DESCRIPTION:") + "\n")
			out.WriteString(s.hang("    ", 4, p.Text))
		} else {
			out.WriteString(s.hang("", 0, p.Text))
		}
	}
	for _, section := range p.Sections {
		out.WriteString("\n" + s.paint(colour.Title, section.Title+":") + "\n")
		for _, line := range section.Lines {
			s.line(&out, line)
		}
		if section.Text != "" {
			out.WriteString(s.hang("    ", 4, section.Text))
		}
		s.rows(&out, section.Rows)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// line writes a line of an example; a rule in YAML's flow style, which may go on in the next line, is broken where it is too long.
func (s Style) line(out *strings.Builder, line string) {
	if strings.HasPrefix(line, "- ") && utf8.RuneCountInString(line) > s.Width-4 {
		out.WriteString(s.hang("    - ", 8, line[2:]))
		return
	}
	out.WriteString("    " + line + "\n")
}

// column is how long a name may be with its text beside it.
const column = 26

// rows writes names with their texts beside them, or below them where there are types.
func (s Style) rows(out *strings.Builder, rows []Row) {
	width, typed := 0, false
	for _, row := range rows {
		if length := utf8.RuneCountInString(row.Name); length <= column {
			width = max(width, length)
		}
		typed = typed || row.Type != ""
	}
	for i, row := range rows {
		switch {
		case !typed:
			s.beside(out, row, width)
		case i > 0 && (row.Text != "" || rows[i-1].Text != ""):
			out.WriteByte('\n')
			fallthrough
		default:
			s.above(out, row)
		}
	}
}

// beside writes a name and its text in one line; a name that is too long has a line of its own.
func (s Style) beside(out *strings.Builder, row Row, width int) {
	head, length := "    "+s.paint(colour.Heading, row.Name), utf8.RuneCountInString(row.Name)
	if length > width {
		out.WriteString(s.hang("    ", 4, s.paint(colour.Heading, row.Name)))
		head, length = "    ", 0
	}
	out.WriteString(s.hang(head+strings.Repeat(" ", width-length+2), width+6, row.Text))
}

// above writes a name with its type, and the text below.
func (s Style) above(out *strings.Builder, row Row) {
	said := "<" + row.Type + ">"
	if row.Type == "" {
		said = ""
	}
	if row.Required {
		said += " required"
	}
	if row.Computed {
		said += " computed"
	}
	out.WriteString(s.hang("    "+s.paint(colour.Heading, row.Name)+"  ", 12, said))
	if row.Text != "" {
		out.WriteString(s.hang("        ", 8, row.Text))
	}
}
