// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// Style is the form of written changes.
type Style struct {
	// Colour writes ANSI colours. The caller knows whether a terminal reads along and whether NO_COLOR is set.
	Colour bool
	// Width is the width of the terminal in characters; 120 when it is 0.
	Width int
	// Context is the number of lines that are shown around changed ones; 1 when it is 0, none when it is negative.
	Context int
	// File shortens the name of a profile's file; without it the last folder and the name are written.
	File func(string) string
	// Title is the heading of a page or a comment, and About describes its input; other formats omit both.
	Title string
	About []Fact
	// Head also writes About above changes as text. Notes are written below changes in every format.
	Head  bool
	Notes []string
}

// Write writes the changes in the given order: changed objects with their differences, denied objects with the reason,
// unchanged objects with one line each, and at the end the names of objects without rules. If the changes belong to
// several snapshots, each has a heading. It fails if w cannot be written.
func (s Style) Write(w io.Writer, changes ...*Change) error {
	s = s.withDefaults()
	var (
		blocks []block
		others []*Change // those of the snapshot without rules
	)
	for i, change := range changes {
		if plane := change.ControlPlane; plane != "" && (i == 0 || changes[i-1].ControlPlane != plane) {
			blocks = append(blocks, block{rows: []row{{left: plane, leftTone: colour.Title}}, apart: true})
		}
		if change.idle() {
			others = append(others, change)
		} else {
			blocks = append(blocks, s.block(change))
		}
		if last := i+1 == len(changes) || changes[i+1].ControlPlane != change.ControlPlane; last && len(others) > 0 {
			blocks, others = append(blocks, s.others(others)), nil
		}
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
		if i > 0 && (b.spaced() || blocks[i-1].spaced()) {
			out.WriteByte('\n')
		}
		for _, r := range b.rows {
			out.WriteString(s.row(r, column))
		}
	}
	if len(blocks) > 0 {
		out.WriteByte('\n')
	}
	out.WriteString(summaryOf(changes) + "\n")
	for _, note := range s.Notes {
		out.WriteString("Note: " + note + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
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

// defaultTitle is the heading of a page or a comment without a title.
const defaultTitle = "Changes by the profile"

// sections returns the changed lines of an object with their context.
func (s Style) sections(c *Change) []Section { return Sections(c.Edits(), max(0, s.Context)) }

// row is a line of output: text on the left, and on the right where it comes from.
type row struct {
	left, right         string
	leftTone, rightTone colour.Tone
	// clip reports that the left text may be cut to keep the columns.
	clip bool
}

type block struct {
	rows []row
	// apart reports that empty lines surround it, even if it has one line.
	apart bool
}

// spaced reports whether empty lines surround the block.
func (b block) spaced() bool { return b.apart || len(b.rows) > 1 }

func (s Style) block(c *Change) block {
	sections, b := s.sections(c), block{}
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
		b.rows = append(b.rows, row{left: "  " + section.Heading(), leftTone: colour.Heading})
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
	b := block{rows: []row{{left: Count(len(changes), "object") + " have no rule and stay unchanged", leftTone: colour.Dim}}}
	if len(changes) == 1 {
		b.rows[0].left = "1 object has no rule and stays unchanged"
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
	var rows []row
	for _, run := range section.Runs() {
		if run.Rows[0].Gap {
			rows = append(rows, row{left: "    ⋮", leftTone: colour.Dim})
		}
		for i, r := range run.Rows {
			out := row{left: fmt.Sprintf("  %c %s", r.Op, r), leftTone: tones[r.Op], rightTone: colour.Dim, clip: r.Op == Same}
			if i == 0 && run.By != nil {
				out.right = s.author(*run.By)
				if *run.By == NoRule {
					out.rightTone = colour.Alarm
				}
			}
			rows = append(rows, out)
		}
	}
	return rows
}

// tones are the colours of lines.
var tones = map[Op]colour.Tone{Same: colour.Dim, Added: colour.Added, Removed: colour.Removed}

// idle writes a rule that changed nothing, with the reason.
func (s Style) idle(a mutation.Applied) (row, bool) {
	what := fmt.Sprintf("%-11s %s", a.Outcome, ruleName(a.Name()))
	switch a.Outcome {
	case mutation.Skipped, mutation.Observed:
		what += ": " + a.Reason
	case mutation.Overridden:
		what += ": by " + a.Reason
	case mutation.Unchanged:
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

// summary returns the number of rules involved.
func summary(c *Change) string {
	if c.Note != "" {
		return c.Note
	}
	text := "changed by no rule"
	if n := c.Count(mutation.Changed); n > 0 {
		text = Count(n, "rule") + " changed it"
	}
	return text + c.withoutEffect()
}

// withoutEffect counts the rules without effect by their outcomes.
func (c *Change) withoutEffect() string {
	text := ""
	for _, outcome := range []mutation.Outcome{mutation.Skipped, mutation.Unchanged, mutation.Overridden, mutation.Observed} {
		if n := c.Count(outcome); n > 0 {
			text += fmt.Sprintf(", %d %s", n, outcome)
		}
	}
	return text
}

// unchanged explains why nothing changed, with the reason if it is the same for all rules.
func unchanged(c *Change) string {
	if c.Note != "" || len(c.Applied) == 0 {
		return cmp.Or(c.Note, "unchanged")
	}
	first, rules := c.Applied[0], Count(len(c.Applied), "rule")
	for _, a := range c.Applied {
		if a.Outcome != first.Outcome || a.Reason != first.Reason {
			return "unchanged" + c.withoutEffect()
		}
	}
	switch first.Outcome {
	case mutation.Skipped, mutation.Observed:
		return fmt.Sprintf("unchanged, %s %s: %s", rules, first.Outcome, first.Reason)
	case mutation.Overridden:
		return fmt.Sprintf("unchanged, %s overridden", rules)
	default:
		return "unchanged by " + rules
	}
}

// summaryOf counts the changes in a line.
func summaryOf(changes []*Change) string {
	var n Summary
	for _, c := range changes {
		n.add(c, c.Changed())
	}
	text := "nothing changes"
	if n.Changed > 0 {
		text = Count(n.Changed, "object") + " changed"
	}
	if n.Changed > 0 && n.Unchanged > 0 {
		text += fmt.Sprintf(", %d unchanged", n.Unchanged)
	}
	if n.Denied > 0 {
		text += fmt.Sprintf(", %d denied", n.Denied)
	}
	return text
}

func (s Style) author(a Author) string {
	if a.Position == (source.Position{}) {
		return a.Rule
	}
	return s.position(a.Position) + " " + ruleName(a.Rule)
}

func (s Style) position(p source.Position) string {
	return fmt.Sprintf("%s:%d", s.File(p.File), p.Line)
}

// unnamed is the name that the engine gives a rule without one: target[index].operation, and its item.
var unnamed = regexp.MustCompile(`^[A-Za-z0-9./*-]+\[\d+\]\.([A-Za-z]+(?:\[.*\])?)$`)

// ruleName returns the name without the target, which precedes it in the output.
func ruleName(rule string) string {
	if match := unnamed.FindStringSubmatch(rule); match != nil {
		return match[1]
	}
	return rule
}

// Patched writes the changes of an object, given as JSON, line by line and with its status. The caller names their
// author. Each line starts with the indentation; nothing is written if the object is unchanged. It fails if an object
// is not valid JSON or w cannot be written.
func (s Style) Patched(w io.Writer, before, after []byte, indentation string) error {
	s = s.withDefaults()
	was, err := project(before, true)
	if err != nil {
		return err
	}
	is, err := project(after, true)
	if err != nil {
		return err
	}
	blame := NewBlame(was)
	blame.advance(is, func(Line) *Author { return nil })
	var out strings.Builder
	for _, part := range Sections(blame.Edits(), max(0, s.Context)) {
		out.WriteString(indentation + s.paint(colour.Heading, part.Heading()) + "\n")
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

// Format is an output format for changes. It hides values from Secrets unless they were revealed.
type Format struct {
	// Name is the value of -o; Summary is a short description.
	Name, Summary string
	Write         func(Style, io.Writer, ...*Change) error
}

// Differences returns the formats for changes; the first is for terminals. To add one: one line here.
func Differences() []Format {
	return []Format{
		{"text", "changed lines and the rules that made them, for a terminal", Style.Write},
		{"json", "the same as a document for programs", Style.JSON},
		{"markdown", "a comment for a pull request", Style.Markdown},
		{"html", "a page to send around", Style.HTML},
	}
}

// Objects returns the formats for resulting objects. To add one: one line here.
func Objects() []Format {
	return []Format{
		{"yaml", "the objects as YAML documents", Style.ObjectsYAML},
		{"json", "the objects as a List", Style.ObjectsJSON},
	}
}

// Find returns the format with a name. The error lists all formats.
func Find(formats []Format, name string) (Format, error) {
	for _, format := range formats {
		if format.Name == name {
			return format, nil
		}
	}
	return Format{}, fmt.Errorf("there is no output format %q; there are %s", name, Names(formats))
}

// Names returns the names of the formats as text.
func Names(formats []Format) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = format.Name
	}
	return strings.Join(names, ", ")
}

// idle reports that an object has neither rules nor changes.
func (c *Change) idle() bool {
	return len(c.Applied) == 0 && c.Denied == nil && c.Note == "" && !c.Changed()
}

// Heading returns a headline for several changes.
func (s Style) Heading(text string) string { return s.paint(colour.Title, text) }

// JSON writes a Difference as JSON, with the sides of a comparison and its notes. It fails if w cannot be written.
func (s Style) JSON(w io.Writer, changes ...*Change) error {
	d := Difference{
		APIVersion: profilev1alpha1.GroupVersion.String(), Kind: "Difference", Objects: make([]ObjectDifference, 0, len(changes)), Notes: s.Notes,
	}
	for _, change := range changes {
		d.Summary.add(change, change.Differs(""))
		d.Objects = append(d.Objects, objectDifference(change))
	}
	for _, fact := range s.About {
		switch fact.Name {
		case "OLD":
			d.Old = fact.Value
		case "NEW":
			d.New = fact.Value
		}
	}
	return WriteJSON(w, d)
}

// ObjectsJSON writes the objects as they are now: one by itself, any other number as a List. The style makes no
// difference. It fails if an object is not valid JSON or w cannot be written.
func (s Style) ObjectsJSON(w io.Writer, changes ...*Change) error {
	items := make([]json.RawMessage, len(changes))
	for i, change := range changes {
		shown, err := change.Shown()
		if err != nil {
			return err
		}
		items[i] = shown
	}
	var whole any = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(items) == 1 {
		whole = items[0]
	}
	return WriteJSON(w, whole)
}

// ObjectsYAML writes the current objects as YAML documents: numbers with their digits, texts of several lines as blocks,
// and base64 files with a comment with their text. It ignores the style. It fails if an object is not valid JSON or w cannot be written.
func (s Style) ObjectsYAML(w io.Writer, changes ...*Change) error {
	if len(changes) == 0 {
		return nil // an encoder cannot end without a document
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, change := range changes {
		shown, err := change.Shown()
		if err != nil {
			return err
		}
		parsed, err := document.Parse(shown)
		if err != nil {
			return fmt.Errorf("reading a value to write it as YAML: %w", err)
		}
		node := yamlNode(rootCursor(parsed.Root()), parsed.Root())
		if err := parsed.Err(); err != nil {
			return fmt.Errorf("reading a value to write it as YAML: %w", err)
		}
		if err := encoder.Encode(node); err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
	}
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}
