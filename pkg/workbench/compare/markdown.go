// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"io"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// commentLimit is how many bytes of differences are written: GitHub takes comments of 65536 characters.
const commentLimit = 56 << 10

// Markdown writes the result as a comment for a pull request: a table of what follows, and then the differences with the rules that make
// them. What would make the comment too long is left out and named.
func (r *Result) Markdown(w io.Writer, style render.Style) error {
	style.File = r.file(style.File)
	out := &strings.Builder{}
	fmt.Fprintf(out, "## What the new version of the profiles changes\n\n- old: %s\n- new: %s\n- %s, %s\n\n",
		render.CodeSpan(r.OldName), render.CodeSpan(r.NewName), count(r.Objects, "object"), r.shoots())
	if !r.Differs() {
		out.WriteString("Nothing is different.\n")
	} else {
		r.markdownTable(out)
	}
	var omitted []string
	for _, g := range r.Groups {
		text := r.markdownGroup(style, g)
		if out.Len()+len(text) > commentLimit {
			omitted = append(omitted, render.CodeSpan(g.String()))
			continue
		}
		out.WriteString(text)
	}
	if len(omitted) > 0 {
		fmt.Fprintf(out, "\nThe comment would be too long with the differences of %s. `-o html` has them all.\n", strings.Join(omitted, ", "))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(out, "\n> [!NOTE]\n> %s\n", note)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Result) markdownTable(out *strings.Builder) {
	out.WriteString("| | object | what follows | where |\n|---|---|---|---|\n")
	for _, row := range r.follows() {
		impact := row.impact
		if row.group.Verdict == NewlyDenied {
			impact = "**" + impact + "**"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", impact, render.CodeSpan(row.subject), row.what, strings.ReplaceAll(row.where, "|", `\|`))
	}
	if len(r.Same) > 0 {
		fmt.Fprintf(out, "\n%s as before.\n", count(len(r.Same), "other object"))
	}
}

func (r *Result) markdownGroup(style render.Style, g *Group) string {
	text := fmt.Sprintf("\n### %s\n\n", render.CodeSpan(g.String()))
	if scope := r.scope(g); scope != "" {
		text += upper(scope) + "."
		if g.Verdict != Different {
			text += " " + headings[g.Verdict] + "."
		}
		text += "\n\n"
	}
	if g.Verdict == Unknown {
		return text + render.CodeSpan(g.Unknown.Error()) + "\n"
	}
	for _, effect := range g.Effects {
		text += "- " + effect.What
		if where := g.where(effect); where != "" {
			text += ": " + where
		}
		text += "\n"
	}
	if len(g.Effects) > 0 {
		text += "\n"
	}
	return text + style.MarkdownBody(g.shown())
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
