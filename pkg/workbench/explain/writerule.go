// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// rule writes one rule: its outcome, position, reason and writes.
func (s Style) rule(out *strings.Builder, o *Object, at int) {
	r := &o.Rules[at]
	outcome := r.Outcome
	switch outcome {
	case string(mutation.Unchanged):
		outcome = "already so"
	case "":
		outcome = "would apply"
	}
	name := r.Name
	if len(o.sets) > 1 {
		name += " (" + r.Set + ")"
	}
	left := fmt.Sprintf("%-11s %s", outcome, name)
	right := ""
	if r.Position != nil {
		right = fmt.Sprintf("%s:%d", s.File(r.Position.File), r.Position.Line)
	}
	line := s.paint(s.toneOf(r.Outcome), fmt.Sprintf("%-11s", outcome)) + " " + s.paint(colour.Title, name)
	if gap := s.Width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right); gap >= 2 && right != "" {
		line += strings.Repeat(" ", gap) + s.paint(colour.Dim, right)
	} else if right != "" {
		line += "\n    " + s.paint(colour.Dim, "at "+right)
	}
	out.WriteString(line + "\n")
	if reason := r.reason(); reason != "" {
		out.WriteString(s.hang("    ", 8, s.short(o, reason)))
	}
	if at == 0 || r.Position == nil || o.Rules[at-1].Position == nil || *o.Rules[at-1].Position != *r.Position {
		for _, t := range r.ForEach {
			s.term(out, "each", t, 0)
		}
	}
	if r.When != nil {
		s.term(out, "when", *r.When, 0)
	}
	for i := range r.Steps {
		s.step(out, o, &r.Steps[i])
	}
}

// reason returns the part of the reason that is missing in the terms and steps.
func (r *Rule) reason() string {
	switch r.Outcome {
	case string(mutation.Changed), string(mutation.Unchanged), string(mutation.Overridden):
		return "" // the steps name the overriding rules
	}
	if r.Reason == mutation.ConditionFalse {
		return ""
	}
	return r.Reason
}

// short writes the names of the profiles' files in a text as the style has them.
func (s Style) short(o *Object, text string) string {
	for i := range o.Rules {
		if p := o.Rules[i].Position; p != nil && p.File != "" {
			text = strings.ReplaceAll(text, p.File+":", s.File(p.File)+":")
		}
	}
	return text
}

func (s Style) toneOf(outcome string) colour.Tone {
	switch outcome {
	case string(mutation.Changed):
		return colour.Added
	case failed, string(mutation.Denied):
		return colour.Alarm
	}
	return colour.Dim
}

// term writes a term behind a word, with the terms below it.
func (s Style) term(out *strings.Builder, word string, t Term, depth int) {
	head := "    " + fmt.Sprintf("%-6s", word) + strings.Repeat("  ", depth)
	if depth == 0 {
		head = "    " + s.paint(colour.Dim, fmt.Sprintf("%-6s", word))
	}
	value, of := t.came()
	if t.Failed != "" && slices.ContainsFunc(t.Terms, func(b Term) bool { return b.Failed == t.Failed }) {
		value = failed
	}
	arrow := " → " + s.paint(of, s.cut(value))
	text := t.Text
	if t.Item != "" {
		text = s.paint(colour.Dim, "for "+t.Item+":") + " " + text
	}
	out.WriteString(s.hang(head, 12+2*depth, text+arrow))
	for _, below := range slices.Concat(t.Terms, t.Each) {
		s.term(out, "", below, depth+1)
	}
	if t.More > 0 {
		out.WriteString(strings.Repeat(" ", 12+2*depth) + s.paint(colour.Dim, "… "+count(t.More, "more item", "more items")) + "\n")
	}
}

// came returns the value of a term, and its tone.
func (t Term) came() (string, colour.Tone) {
	switch {
	case t.NotEvaluated:
		return "not evaluated", colour.Dim
	case t.Failed != "":
		return failed + ": " + t.Failed, colour.Alarm
	case t.Value == "true":
		return t.Value, colour.Added
	case t.Value == "false":
		return t.Value, colour.Removed
	}
	return t.Value, colour.Normal
}

// step writes a place, its value, and the resulting change.
func (s Style) step(out *strings.Builder, o *Object, step *Step) {
	text := step.Place + ": " + s.cut(step.Value)
	switch structured := strings.HasPrefix(step.Value, "{") || strings.HasPrefix(step.Value, "["); {
	case structured && len(step.Lines) > 0 && len(step.Value) > shortValue:
		text = step.Place
	case step.Kept:
		text = step.Place + ": stays what it is in the cluster"
	case step.Overridden != "":
		text += ", overridden by " + step.Overridden
	case step.step.After != nil && len(step.Lines) == 0:
		text += ", already so"
	}
	out.WriteString(s.hang("    "+s.paint(colour.Dim, "writes")+" ", 12, s.short(o, text)))
	least := 0
	for i, edit := range step.Lines {
		if i == 0 || edit.depth < least {
			least = edit.depth
		}
	}
	for i, edit := range step.Lines {
		if i == mostLines {
			out.WriteString("         " + s.paint(colour.Dim, "… "+count(len(step.Lines)-i, "more line", "more lines")) + "\n")
			break
		}
		sign, of := "+ ", colour.Added
		if edit.Op == "remove" {
			sign, of = "- ", colour.Removed
		}
		out.WriteString("         " + s.paint(of, sign+s.fit(strings.Repeat("  ", edit.depth-least)+edit.Text, 11)) + "\n")
	}
}

// cut shortens a long value.
func (s Style) cut(value string) string {
	if n := utf8.RuneCountInString(value); n > longest {
		return string([]rune(value)[:longest]) + fmt.Sprintf("… (%d characters)", n)
	}
	return value
}

// fit cuts a line to the width.
func (s Style) fit(text string, indent int) string {
	if room := s.Width - indent; utf8.RuneCountInString(text) > room {
		return string([]rune(text)[:room-1]) + "…"
	}
	return text
}
