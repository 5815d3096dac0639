// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
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
	About []report.Fact
	// Head also writes About above changes as text. Notes are written below changes in every format.
	Head  bool
	Notes []string
}

// Write writes the changes in the given order: changed objects with their differences, denied objects with the reason,
// unchanged objects with one line each, and at the end the names of objects without rules. If the changes belong to
// several snapshots, each has a heading. It fails if w cannot be written.
func (s Style) Write(w io.Writer, changes ...*Change) error {
	s = s.withDefaults()
	all := changes
	var blocks []block
	for len(changes) > 0 {
		var snapshot []*Change
		snapshot, changes = ofSnapshot(changes)
		if snapshot[0].ControlPlane != "" {
			blocks = append(blocks, block{rows: []row{{left: snapshot[0].ControlPlane, leftTone: colour.Title}}, apart: true})
		}
		blocks = append(blocks, s.snapshot(snapshot)...)
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

// ofSnapshot returns the leading changes of one snapshot, and the rest.
func ofSnapshot(changes []*Change) (first, rest []*Change) {
	for i, change := range changes {
		if change.ControlPlane != changes[0].ControlPlane {
			return changes[:i], changes[i:]
		}
	}
	return changes, nil
}

// snapshot returns the blocks of the changes of one snapshot.
func (s Style) snapshot(changes []*Change) []block {
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
	// clip reports that the left text may be cut to keep the columns.
	clip bool
}

type block struct {
	rows []row
	// apart reports that empty lines surround it, even if it has one line.
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
	b := block{rows: []row{{left: report.Count(len(changes), "object") + " have no rule and stay unchanged", leftTone: colour.Dim}}}
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
		what = "unchanged   " + ruleName(a.Name())
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
	text := report.Count(c.Count(mutation.Changed), "rule") + " changed it"
	if c.Count(mutation.Changed) == 0 {
		text = "changed by no rule"
	}
	for _, other := range outcomeWords {
		if n := c.Count(other.outcome); n > 0 {
			text += fmt.Sprintf(", %d %s", n, other.word)
		}
	}
	return text
}

// outcomeWords lists the outcomes of rules without effect, in the order of the counts.
var outcomeWords = []struct {
	outcome mutation.Outcome
	word    string
}{{mutation.Skipped, "skipped"}, {mutation.Unchanged, "unchanged"}, {mutation.Overridden, "overridden"}, {mutation.Observed, "observed"}}

// unchanged explains why nothing changed, with the reason if it is the same for all rules.
func unchanged(c *Change) string {
	if c.Note != "" {
		return c.Note
	}
	if len(c.Applied) == 0 {
		return "unchanged"
	}
	reason := c.Applied[0].Reason
	for _, a := range c.Applied {
		if a.Outcome != c.Applied[0].Outcome || a.Reason != reason {
			text := "unchanged"
			for _, other := range outcomeWords {
				if n := c.Count(other.outcome); n > 0 {
					text += fmt.Sprintf(", %d %s", n, other.word)
				}
			}
			return text
		}
	}
	text := "unchanged, " + report.Count(len(c.Applied), "rule") + " "
	switch c.Applied[0].Outcome {
	case mutation.Skipped:
		return text + "skipped: " + reason
	case mutation.Overridden:
		return text + "overridden"
	case mutation.Observed:
		return text + "observed: " + reason
	default:
		return "unchanged by " + report.Count(len(c.Applied), "rule")
	}
}

// summaryOf counts the changes in a line.
func summaryOf(changes []*Change) string {
	changed, denied := 0, 0
	for _, c := range changes {
		switch {
		case c.Denied != nil:
			denied++
		case c.Changed():
			changed++
		}
	}
	text := "nothing changes"
	if changed > 0 {
		text = report.Count(changed, "object") + " changed"
	}
	if same := len(changes) - changed - denied; same > 0 && changed > 0 {
		text += fmt.Sprintf(", %d unchanged", same)
	}
	if denied > 0 {
		text += fmt.Sprintf(", %d denied", denied)
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

// Format is an output format for changes. It hides values from Secrets unless they were revealed.
type Format struct {
	// Name is the value of -o; Summary is a short description.
	Name, Summary string
	Write         func(Style, io.Writer, ...*Change) error
	// Whole means that whole objects are written instead of their changes.
	Whole bool
}

// differences lists the formats for changes. To add one: one line here.
var differences = []Format{
	{"text", "changed lines and the rules that made them, for a terminal", Style.Write, false},
	{"json", "the same as a document for programs", Style.JSON, false},
	{"yaml", "that document as YAML", Style.YAML, false},
	{"markdown", "a comment for a pull request", Style.Markdown, false},
	{"html", "a page to send around", Style.HTML, false},
}

// objects lists the formats for resulting objects. To add one: one line here.
var objects = []Format{
	{"yaml", "the objects as YAML documents", Style.ObjectsYAML, true},
	{"json", "the objects as a List", Style.ObjectsJSON, true},
	{"text", "the objects as lines to read: a flag a line, texts inside fields as text", Style.ObjectsText, true},
}

// Differences returns the formats for changes; the first is for terminals.
func Differences() []Format { return differences }

// Objects returns the formats for resulting objects, followed by those for changes with other names.
func Objects() []Format {
	all := append([]Format(nil), objects...)
	for _, format := range differences {
		if _, err := Find(objects, format.Name); err != nil {
			all = append(all, format)
		}
	}
	return all
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

// HTML writes the changes as a page. It fails if w cannot be written.
func (s Style) HTML(w io.Writer, changes ...*Change) error { return s.Page(changes...).Write(w) }

// Page returns the page of the changes; the caller may add to it.
func (s Style) Page(changes ...*Change) *report.Page {
	s = s.withDefaults()
	page := &report.Page{Title: s.Title, Facts: s.About}
	if page.Title == "" {
		page.Title = "Changes by the profile"
	}
	var changed, denied int
	for _, change := range changes {
		if change.idle() {
			page.Rest = addName(page.Rest, change)
			continue
		}
		section := s.PageSection(change)
		switch {
		case section.Denied != "":
			denied++
		case len(section.Blocks) > 0:
			changed++
		}
		page.Sections = addSection(page.Sections, section)
	}
	page.Figures = []report.Figure{
		figure(changed, "object changed", "objects changed", report.Good),
		figure(len(changes)-changed-denied, "object as it was", "objects as they were", ""),
	}
	if len(s.Notes) > 0 {
		page.Rest = append(page.Rest, report.Names{Heading: "Notes", Names: s.Notes})
	}
	if denied > 0 {
		page.Figures = append([]report.Figure{figure(denied, "object denied", "objects denied", report.Bad)}, page.Figures...)
	}
	return page
}

// addSection adds a section, or adds its snapshot to an equal section of another snapshot.
func addSection(sections []report.Section, added report.Section) []report.Section {
	snapshots := added.For
	for i := range sections {
		if sections[i].Kind != added.Kind || sections[i].Name != added.Name || len(snapshots) == 0 {
			continue
		}
		if added.For = sections[i].For; reflect.DeepEqual(sections[i], added) {
			sections[i].For = append(sections[i].For, snapshots...)
			return sections
		}
	}
	added.For = snapshots
	return append(sections, added)
}

// idle reports that an object has neither rules nor changes.
func (c *Change) idle() bool {
	return len(c.Applied) == 0 && c.Denied == nil && c.Note == "" && !c.Changed()
}

func figure(n int, one, many string, tone report.Tone) report.Figure {
	if n == 1 {
		many = one
	}
	return report.Figure{Value: fmt.Sprint(n), Label: many, Tone: tone}
}

// addName adds an object to the list of those without rules, grouped by snapshot.
func addName(rest []report.Names, c *Change) []report.Names {
	heading := "Without rules"
	if c.ControlPlane != "" {
		heading = "In " + c.ControlPlane + " without rules"
	}
	if last := len(rest) - 1; last < 0 || rest[last].Heading != heading {
		rest = append(rest, report.Names{Heading: heading})
	}
	last := &rest[len(rest)-1]
	last.Names = append(last.Names, c.title())
	return rest
}

// PageSection returns a change as a section of a page.
func (s Style) PageSection(c *Change) report.Section {
	s = s.withDefaults()
	section := report.Section{Kind: c.Kind, Name: c.Name, Note: unchanged(c)}
	if c.ControlPlane != "" {
		section.For = []string{c.ControlPlane}
	}
	section.For = append(section.For, c.Shoots...)
	if c.Denied != nil {
		section.Denied, section.Note = c.Denial(), c.Note
	}
	for _, part := range Sections(c.Edits(), max(0, s.Context)) {
		section.Blocks = append(section.Blocks, s.pageBlock(part))
		section.Note = summary(c)
	}
	for _, a := range c.Applied {
		section.Rules = append(section.Rules, report.Applied{
			Rule: s.pageRule(AuthorOf(a)), Outcome: outcomes[a.Outcome], Reason: a.Reason,
		})
	}
	return section
}

// outcomes are those of rules in the words of a page.
var outcomes = map[mutation.Outcome]report.Outcome{
	mutation.Changed: report.Changed, mutation.Unchanged: report.Unchanged, mutation.Skipped: report.Skipped,
	mutation.Overridden: report.Overridden, mutation.Observed: report.Observed,
}

func (s Style) pageBlock(part Section) report.Block {
	block := report.Block{Heading: headingOf(part)}
	rules := map[Author]*report.Rule{}
	for _, row := range part.Rows {
		line := report.Line{Op: report.Op(row.Op), Indent: row.Indent, Text: row.Line.Text, Gap: row.Gap, Folded: row.Folded}
		if row.By != nil {
			if rules[*row.By] == nil {
				rule := s.pageRule(*row.By)
				rules[*row.By] = &rule
			}
			line.By = rules[*row.By]
		}
		block.Lines = append(block.Lines, line)
	}
	return block
}

// pageRule returns an author as a rule of a page; an unnamed rule has its position added.
func (s Style) pageRule(a Author) report.Rule {
	rule := report.Rule{Name: a.Rule, Profile: a.Profile, Alarm: a == NoRule}
	if a.Position.File != "" {
		rule.At = s.position(a.Position)
	}
	return rule
}

// headingOf returns the place of a section; the object itself has none.
func headingOf(part Section) string {
	if part.Path == "" {
		return "the object"
	}
	return part.Path
}

// Heading returns a headline for several changes.
func (s Style) Heading(text string) string { return s.paint(colour.Title, text) }
