// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"reflect"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
)

// HTML writes the changes as a page.
func (s Style) HTML(w io.Writer, changes ...*Change) error { return s.Page(changes...).Write(w) }

// Page returns the page of the changes; the caller may add to it.
func (s Style) Page(changes ...*Change) *report.Page {
	s = s.withDefaults()
	page := &report.Page{Title: s.Title, Facts: s.About}
	if page.Title == "" {
		page.Title = "What the profile changes"
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

// addSection adds a section, or its scene to the section that says the same of another one.
func addSection(sections []report.Section, added report.Section) []report.Section {
	scenes := added.For
	for i := range sections {
		if sections[i].Kind != added.Kind || sections[i].Name != added.Name || len(scenes) == 0 {
			continue
		}
		if added.For = sections[i].For; reflect.DeepEqual(sections[i], added) {
			sections[i].For = append(sections[i].For, scenes...)
			return sections
		}
	}
	added.For = scenes
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

// addName adds an object to the list of those without rules, grouped by scene.
func addName(rest []report.Names, c *Change) []report.Names {
	heading := "No rule is for"
	if c.Scene != "" {
		heading = "In " + c.Scene + " no rule is for"
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
	if c.Scene != "" {
		section.For = []string{c.Scene}
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
