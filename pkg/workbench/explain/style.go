// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Style says how explanations are written.
type Style struct {
	// Colour writes ANSI colours. The caller knows whether a terminal reads along and whether NO_COLOR is set.
	Colour bool
	// Width is that of the terminal in characters; 100 when it is 0.
	Width int
	// File shortens the name of a profile's file; without it the last folder and the name are written.
	File func(string) string
}

func (s Style) withDefaults() Style {
	if s.Width <= 0 {
		s.Width = 100
	}
	s.Width = max(s.Width, leastWidth)
	if s.File == nil {
		s.File = func(name string) string { return path.Join(path.Base(path.Dir(name)), path.Base(name)) }
	}
	return s
}

// leastWidth is what text needs to be readable at all.
const leastWidth = 40

// tone is the role of a text, of which the colour follows.
type tone string

const (
	normal  tone = ""
	title   tone = "1"
	heading tone = "36"
	added   tone = "32"
	removed tone = "31"
	dim     tone = "2"
	alarm   tone = "1;31"
)

func (s Style) paint(t tone, text string) string {
	if !s.Colour || t == normal || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// Formats are the forms in which explanations and pages can be written; the first is for people at a terminal.
func Formats() []string { return []string{"text", "json", "yaml"} }

// Write writes a *Page or an *Object in a format.
func (s Style) Write(w io.Writer, format string, what any) error {
	if format == "text" {
		if page, ok := what.(*Page); ok {
			return s.writePage(w, page)
		}
		return s.writeObject(w, what.(*Object))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(what); err != nil {
		return fmt.Errorf("writing as JSON: %w", err)
	}
	if format == "yaml" {
		raw, err := yaml.JSONToYAML(out.Bytes())
		if err != nil {
			return fmt.Errorf("writing as YAML: %w", err)
		}
		out = *bytes.NewBuffer(append([]byte("---\n"), raw...))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writePage writes a page as text.
func (s Style) writePage(w io.Writer, p *Page) error {
	s = s.withDefaults()
	var out strings.Builder
	width := 0
	for _, head := range p.Heads {
		width = max(width, len(head.Name)+1)
	}
	for _, head := range p.Heads {
		out.WriteString(s.hang(s.paint(title, pad(head.Name+":", width)+"  "), width+2, head.Text))
	}
	if p.Text != "" {
		if len(p.Heads) > 0 {
			out.WriteString("\n" + s.paint(title, "DESCRIPTION:") + "\n")
			out.WriteString(s.hang("    ", 4, p.Text))
		} else {
			out.WriteString(s.hang("", 0, p.Text))
		}
	}
	for _, section := range p.Sections {
		out.WriteString("\n" + s.paint(title, section.Title+":") + "\n")
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
	head, length := "    "+s.paint(heading, row.Name), utf8.RuneCountInString(row.Name)
	if length > width {
		out.WriteString(s.hang("    ", 4, s.paint(heading, row.Name)))
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
	out.WriteString(s.hang("    "+s.paint(heading, row.Name)+"  ", 12, said))
	if row.Text != "" {
		out.WriteString(s.hang("        ", 8, row.Text))
	}
}

// hang writes a text behind a head, in lines of the style's width; those after the first are indented.
func (s Style) hang(head string, indent int, text string) string {
	var out strings.Builder
	out.WriteString(head)
	for i, line := range wrap(text, s.Width-visible(head), s.Width-indent) {
		if i > 0 {
			out.WriteString(strings.Repeat(" ", indent))
		}
		out.WriteString(line + "\n")
	}
	return trimEnds(out.String())
}

// trimEnds takes spaces away from the ends of lines.
func trimEnds(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// visible is the width of a text without its colours.
func visible(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wrap breaks a text at its spaces into lines, of which the first may have another width; as far as words allow, and one at least.
func wrap(text string, width, others int) []string {
	var (
		lines []string
		line  strings.Builder
		used  int
	)
	for word := range words(text, others) {
		length := visible(word)
		if used > 0 && used+1+length > width {
			lines = append(lines, line.String())
			line.Reset()
			used, width = 0, others
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += length
	}
	return append(lines, line.String())
}

// words are those of a text, the ones that fit in no line in pieces.
func words(text string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsSeq(text) {
			for visible(word) > width && !strings.Contains(word, "\x1b") {
				runes := []rune(word)
				if !yield(string(runes[:width])) {
					return
				}
				word = string(runes[width:])
			}
			if !yield(word) {
				return
			}
		}
	}
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
