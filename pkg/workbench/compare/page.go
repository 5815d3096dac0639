// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"io"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/rollout"
)

// widest is the number of shoots up to which a page has a table of them.
const widest = 40

// HTML writes the result as a page.
func (r *Result) HTML(w io.Writer, style render.Style) error { return r.Page(style).Write(w) }

// Page is the page of the result; the caller may add to it.
func (r *Result) Page(style render.Style) *report.Page {
	style.File = r.file(style.File)
	page := &report.Page{
		Title: "What the new version of the profiles changes",
		Facts: append([]report.Fact{{Name: "Old", Value: r.OldName}, {Name: "New", Value: r.NewName}, {Name: "Tried on", Value: r.shoots()}}, style.About...),
	}
	if !r.Differs() {
		page.Lead = "Nothing is different."
	}
	counts := map[rollout.Impact]int{}
	for i, g := range r.Groups {
		page.Sections = append(page.Sections, r.section(style, g, key(i)))
		for _, impact := range g.impacts() {
			counts[impact]++
		}
	}
	page.Figures = append(page.Figures, r.figures(counts)...)
	if len(r.Shoots) > 1 && len(r.Shoots) <= widest && len(r.Groups) > 0 {
		page.Matrix = r.matrix()
	}
	if len(r.Notes) > 0 {
		page.Rest = append(page.Rest, report.Names{Heading: "To be known", Names: r.Notes})
	}
	if len(r.Same) > 0 {
		same := report.Names{Heading: "As before in all shoots"}
		for _, subject := range r.Same {
			same.Names = append(same.Names, subject.String())
		}
		page.Rest = append(page.Rest, same)
	}
	return page
}

func key(group int) string { return fmt.Sprintf("g%d", group) }

// impacts are the different impacts of the group's effects.
func (g *Group) impacts() []rollout.Impact {
	var impacts []rollout.Impact
	for _, effect := range g.Effects {
		if !slices.Contains(impacts, effect.Impact) {
			impacts = append(impacts, effect.Impact)
		}
	}
	return impacts
}

// figures are what one wants to know first.
func (r *Result) figures(counts map[rollout.Impact]int) []report.Figure {
	var figures []report.Figure
	for _, figure := range []struct {
		verdict Verdict
		label   string
	}{{NewlyDenied, "newly denied"}, {Unknown, "not compared"}} {
		if n := r.Count(figure.verdict); n > 0 {
			figures = append(figures, report.Figure{Value: fmt.Sprint(n), Label: figure.label, Tone: report.Bad})
		}
	}
	for _, figure := range []struct {
		impact rollout.Impact
		label  string
		tone   report.Tone
	}{
		{rollout.Breaks, "that break something", report.Bad}, {rollout.Nodes, "that replace or drain nodes", report.Bad},
		{rollout.Pods, "that replace pods", report.Notable}, {rollout.Units, "that restart units", report.Notable},
	} {
		if n := counts[figure.impact]; n > 0 {
			figures = append(figures, report.Figure{Value: fmt.Sprint(n), Label: figure.label, Tone: figure.tone})
		}
	}
	differences := r.Count(Different)
	label := "differences"
	if differences == 1 {
		label = "difference"
	}
	return append(figures,
		report.Figure{Value: fmt.Sprint(differences), Label: label},
		report.Figure{Value: fmt.Sprint(len(r.Same)), Label: "objects as before", Tone: report.Good})
}

func (r *Result) section(style render.Style, g *Group, key string) report.Section {
	section := report.Section{Kind: g.Kind, Name: g.Name}
	if g.Verdict == Unknown {
		section.Denied = g.Unknown.Error()
	} else {
		section = style.PageSection(g.shown())
	}
	section.Key, section.Note, section.Rules = key, r.scope(g), nil
	if len(r.Shoots) > 1 {
		section.For = r.named(g.Shoots)
	}
	switch g.Verdict {
	case NewlyDenied:
		section.Badges = append(section.Badges, report.Badge{Text: "newly denied", Tone: report.Bad})
	case Admitted:
		section.Badges = append(section.Badges, report.Badge{Text: "no longer denied", Tone: report.Good})
	case Unknown:
		section.Badges = append(section.Badges, report.Badge{Text: "not compared", Tone: report.Bad})
	case Denied:
		section.Badges = append(section.Badges, report.Badge{Text: "denied by both"})
	}
	for _, effect := range g.Effects {
		text := effect.What
		if where := g.where(effect); where != "" {
			text += ": " + where
		}
		section.Badges = append(section.Badges, report.Badge{Text: text, Tone: toneOf(effect.Impact)})
	}
	return section
}

func toneOf(impact rollout.Impact) report.Tone {
	switch impact {
	case rollout.Breaks, rollout.Nodes:
		return report.Bad
	case rollout.Pods, rollout.Units:
		return report.Notable
	case rollout.Nothing:
		return report.Good
	default:
		return ""
	}
}

// matrix has a row for each object that differs somewhere, and a column for each shoot.
func (r *Result) matrix() *report.Matrix {
	m := &report.Matrix{Title: "What follows where", Corner: "Object"}
	for _, shoot := range r.Shoots {
		m.Columns = append(m.Columns, shoot.Title)
	}
	rows := map[Subject]int{}
	for i, g := range r.Groups {
		at, ok := rows[g.Subject]
		if !ok {
			at = len(m.Rows)
			rows[g.Subject] = at
			m.Rows = append(m.Rows, report.MatrixRow{Name: g.String(), Cells: make([]report.Cell, len(r.Shoots))})
			for _, shoot := range g.Among {
				m.Rows[at].Cells[shoot] = report.Cell{Text: "same"}
			}
		}
		for _, shoot := range g.Shoots {
			m.Rows[at].Cells[shoot] = g.cell(shoot, key(i))
		}
	}
	return m
}

func (g *Group) cell(shoot int, key string) report.Cell {
	switch g.Verdict {
	case NewlyDenied, Denied:
		return report.Cell{Text: "denied", Tone: report.Bad, Key: key}
	case Unknown:
		return report.Cell{Text: "unknown", Tone: report.Bad, Key: key}
	case Admitted:
		return report.Cell{Text: "admitted", Tone: report.Good, Key: key}
	}
	for _, effect := range g.Effects {
		if slices.Contains(effect.Shoots, shoot) {
			return report.Cell{Text: string(effect.Impact), Tone: toneOf(effect.Impact), Key: key}
		}
	}
	return report.Cell{Text: "different", Key: key}
}
