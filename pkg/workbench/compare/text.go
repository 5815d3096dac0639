// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/rollout"
)

// headings stand above the groups of a verdict.
var headings = map[Verdict]string{
	NewlyDenied: "Newly denied", Admitted: "No longer denied", Different: "Different", Denied: "Denied by both sides",
	Unknown: "Could not be compared",
}

// Text writes the result for a terminal or a file.
func (r *Result) Text(w io.Writer, style render.Style) error {
	style.File = r.file(style.File)
	out := &strings.Builder{}
	fmt.Fprintf(out, "OLD  %s\nNEW  %s\n     %s, %s\n", r.OldName, r.NewName, count(r.Objects, "object"), r.shoots())
	last := Verdict("")
	for _, g := range r.Groups {
		if g.Verdict != last {
			fmt.Fprintf(out, "\n%s\n", style.Heading(headings[g.Verdict]))
		}
		last = g.Verdict
		out.WriteByte('\n')
		if err := r.group(out, style, g); err != nil {
			return err
		}
	}
	r.summary(out, style)
	if len(r.Notes) > 0 {
		out.WriteByte('\n')
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "Note: %s\n", note)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Result) group(out *strings.Builder, style render.Style, g *Group) error {
	if g.Verdict == Unknown {
		fmt.Fprintf(out, "%s\n    %s\n", style.Heading(strings.TrimSpace(g.String()+"  "+r.scope(g))), g.Unknown)
		return nil
	}
	change, scope := g.shown(), r.scope(g)
	if change.Note = scope; scope == "" && len(g.Effects) > 0 {
		change.Note = g.Effects[0].What
	}
	if err := style.Write(out, change); err != nil {
		return err
	}
	if g.Verdict != Different && scope != "" {
		fmt.Fprintf(out, "    %s\n", scope)
	}
	if scope == "" && len(g.Effects) == 1 {
		return nil
	}
	for _, effect := range g.Effects {
		fmt.Fprintf(out, "  %s %s", arrow, effect.What)
		if where := g.where(effect); where != "" {
			fmt.Fprintf(out, ": %s", where)
		}
		out.WriteByte('\n')
	}
	return nil
}

const arrow = "→"

// shown is the group as a change under its own name: the difference, or the object that is denied.
func (g *Group) shown() *render.Change {
	shown := *cmp.Or(g.denied, g.Difference)
	shown.APIVersion, shown.Kind, shown.Name = g.APIVersion, g.Kind, g.Name
	return &shown
}

// summary says at the end what follows from all differences, and what is the same.
func (r *Result) summary(out *strings.Builder, style render.Style) {
	if !r.Differs() {
		if r.Count(Unknown) == 0 {
			fmt.Fprintf(out, "\nNothing is different.\n")
		}
		return
	}
	fmt.Fprintf(out, "\n%s\n\n", style.Heading("What follows"))
	rows := r.follows()
	width := 0
	for _, row := range rows {
		width = max(width, len(row.subject))
	}
	for _, row := range rows {
		line := fmt.Sprintf("  %-9s %-*s  %s", row.impact, width, row.subject, row.what)
		if row.where != "" {
			line += ": " + row.where
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if len(r.Same) > 0 {
		fmt.Fprintf(out, "  %-9s %s as before\n", "same", count(len(r.Same), "other object"))
	}
}

// follow is a line of what follows.
type follow struct {
	impact, subject, what, where string
	group                        *Group
}

// follows are the effects of all groups, the gravest first; those without any are one line each.
func (r *Result) follows() []follow {
	var rows []follow
	for _, g := range r.Groups {
		switch g.Verdict {
		case NewlyDenied:
			rows = append(rows, follow{"denied", g.String(), "cannot be written any more", r.scope(g), g})
		case Admitted:
			rows = append(rows, follow{"admitted", g.String(), "can be written again", r.scope(g), g})
		case Unknown:
			rows = append(rows, follow{"unknown", g.String(), "could not be compared", r.scope(g), g})
		}
	}
	for _, impact := range rollout.Impacts() {
		for _, g := range r.Groups {
			for _, effect := range g.Effects {
				if effect.Impact == impact {
					rows = append(rows, follow{string(impact), g.String(), effect.What, r.consequence(g, effect), g})
				}
			}
		}
	}
	return rows
}

// consequence says in which shoots an effect is.
func (r *Result) consequence(g *Group, effect Consequence) string {
	if len(effect.Shoots) == len(g.Shoots) {
		return r.scope(g)
	}
	own := *g
	own.Shoots, own.When = effect.Shoots, ""
	known := make([]map[string]string, len(r.Shoots))
	for i, shoot := range r.Shoots {
		known[i] = shoot.Traits
	}
	own.When = separate(known, own.Shoots, own.Among)
	return r.scope(&own)
}

// where says in which of the group's shoots an effect is; empty for all.
func (g *Group) where(effect Consequence) string {
	if len(effect.Shoots) == len(g.Shoots) {
		return ""
	}
	text := fmt.Sprintf("in %d of them", len(effect.Shoots))
	if effect.When != "" {
		text += ", those " + effect.When
	}
	return text
}

// fewTitles is the number of shoots that are named where nothing else sets them apart.
const fewTitles = 4

// scope says in which shoots a group is; empty where there is only one.
func (r *Result) scope(g *Group) string {
	switch {
	case len(r.Shoots) == 1:
		return ""
	case len(g.Shoots) == len(r.Shoots) && len(r.Shoots) == 2:
		return "in both shoots"
	case len(g.Shoots) == len(r.Shoots):
		return fmt.Sprintf("in all %d shoots", len(r.Shoots))
	case len(g.Shoots) == len(g.Among) && len(g.Among) == 1:
		return "in the one shoot that has it: " + r.Shoots[g.Shoots[0]].Title
	case len(g.Shoots) == len(g.Among):
		return fmt.Sprintf("in all %d shoots that have it", len(g.Among))
	}
	text := fmt.Sprintf("in %d of %d shoots", len(g.Shoots), len(g.Among))
	if g.When != "" {
		return text + ", only " + g.When
	}
	return text + ": " + r.titles(g.Shoots)
}

func (r *Result) titles(shoots []int) string {
	var titles []string
	for i, shoot := range shoots {
		if i == fewTitles && len(shoots) > fewTitles+1 {
			titles = append(titles, fmt.Sprintf("%d others", len(shoots)-fewTitles))
			break
		}
		titles = append(titles, "("+r.Shoots[shoot].Title+")")
	}
	return and(titles)
}

// shoots says over what was compared.
func (r *Result) shoots() string {
	if len(r.Shoots) == 1 {
		return "1 shoot: " + r.Shoots[0].Title
	}
	known, all := make([]map[string]string, len(r.Shoots)), make([]int, len(r.Shoots))
	for i, shoot := range r.Shoots {
		known[i], all[i] = shoot.Traits, i
	}
	return fmt.Sprintf("%d shoots: Kubernetes %s", len(r.Shoots), and(valuesOf(known, all, traits[0])))
}

// file names the profiles of both sides apart.
func (r *Result) file(short func(string) string) func(string) string {
	return func(name string) string {
		side := ""
		switch {
		case r.OldFiles[name] && !r.NewFiles[name]:
			side = "OLD "
		case r.NewFiles[name] && !r.OldFiles[name]:
			side = "NEW "
		}
		if short != nil {
			return side + short(name)
		}
		return side + lastPart(name)
	}
}

// lastPart is the name of a file without its folders.
func lastPart(name string) string { return name[strings.LastIndexAny(name, "/:")+1:] }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
