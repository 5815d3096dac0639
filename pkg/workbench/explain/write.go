// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

const (
	// longest is how many characters of a value are shown, and mostLines how many lines of a step.
	longest   = 160
	mostLines = 12
	// shortValue is how long a structure may be to be written beside the lines that it makes.
	shortValue = 40
	// failed is the outcome of a rule that could not be computed or applied.
	failed = "failed"
)

// writeObject writes what rules do with an object as text.
func (s Style) writeObject(w io.Writer, o *Object) error {
	s = s.withDefaults()
	var out strings.Builder
	head := o.Object.String()
	if o.About != "" {
		head = o.About + " of " + head
	}
	out.WriteString(s.hang(s.paint(title, head), 2, ""))
	switch {
	case o.Note != "":
		out.WriteString(s.hang("  ", 2, o.Note))
	default:
		out.WriteString(s.hang("  ", 2, o.summary()))
	}
	if o.Denied != "" {
		out.WriteString(s.hang("  "+s.paint(alarm, "denied")+"  ", 10, s.short(o, o.Denied)))
	}
	for _, missing := range o.Missing {
		out.WriteString(s.hang("  "+s.paint(alarm, "missing")+"  ", 11, "lookup "+missing.Name+" of profile "+missing.Profile+": "+missing.Reason))
	}
	if o.About != "" && len(o.Rules) > 0 {
		s.state(&out, "before any rule", o.Before)
	}
	for i := range o.Rules {
		out.WriteByte('\n')
		s.rule(&out, o, i)
	}
	if o.About != "" {
		s.state(&out, "in the end", o.After)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summary counts the rules by what became of them.
func (o *Object) summary() string {
	if o.About != "" {
		return o.aboutSummary()
	}
	text := count(len(o.Rules), "rule is", "rules are") + " for it"
	var parts []string
	for _, of := range []struct{ outcome, what string }{
		{string(mutation.Changed), "changed it"}, {string(mutation.Unchanged), "already so"}, {string(mutation.Skipped), "skipped"},
		{string(mutation.Overridden), "overridden"}, {string(mutation.Observed), "observed"}, {failed, "failed"}, {"", "would apply"},
	} {
		if n := o.count(of.outcome); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of.what))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if o.Elsewhere > 0 {
		text += "; " + count(o.Elsewhere, "rule is", "rules are") + " for other objects"
	}
	return text
}

func (o *Object) aboutSummary() string {
	switch {
	case len(o.Rules) == 0 && len(o.Before) > 0:
		return "no rule writes it: it stays as it came"
	case len(o.Rules) == 0:
		return "no rule writes it"
	}
	return count(len(o.Rules), "rule has", "rules have") + " to do with it"
}

func (o *Object) count(outcome string) int {
	n := 0
	for i := range o.Rules {
		if o.Rules[i].Outcome == outcome {
			n++
		}
	}
	return n
}

func count(n int, one, several string) string {
	switch n {
	case 0:
		return "no " + one
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// state writes lines of the object as they are at one time.
func (s Style) state(out *strings.Builder, when string, lines []Line) {
	out.WriteString("\n" + s.paint(heading, when) + "\n")
	if len(lines) == 0 {
		out.WriteString("  " + s.paint(dim, "nothing") + "\n")
	}
	last, least := "", 0
	for i, l := range lines {
		if i == mostLines {
			out.WriteString("    " + s.paint(dim, "… "+count(len(lines)-i, "more line", "more lines")) + "\n")
			break
		}
		if place := parent(l.Path); i == 0 || !inside(place, last) {
			out.WriteString("  " + s.paint(dim, place) + "\n")
			last, least = place, l.depth
		}
		out.WriteString("    " + s.fit(strings.Repeat("  ", max(0, l.depth-least))+l.Text, 4) + "\n")
	}
}

// parent is the path of a line without the flag that it ends in.
func parent(path string) string {
	if i := strings.LastIndex(path, "["); i >= 0 && strings.HasPrefix(path[i:], "[-") {
		return path[:i]
	}
	return path
}

// rule writes one rule: what became of it and where it stands, why, and what it writes.
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
	line := s.paint(s.toneOf(r.Outcome), fmt.Sprintf("%-11s", outcome)) + " " + s.paint(title, name)
	if gap := s.Width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right); gap >= 2 && right != "" {
		line += strings.Repeat(" ", gap) + s.paint(dim, right)
	} else if right != "" {
		line += "\n    " + s.paint(dim, "at "+right)
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

// reason is what the terms and steps do not tell.
func (r *Rule) reason() string {
	switch r.Outcome {
	case string(mutation.Changed), string(mutation.Unchanged), string(mutation.Overridden):
		return "" // the steps say by what they are overridden
	}
	if r.Reason == falseCondition {
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

// falseCondition is the reason of the engine that the terms tell better.
const falseCondition = "the condition is false"

func (s Style) toneOf(outcome string) tone {
	switch outcome {
	case string(mutation.Changed):
		return added
	case failed:
		return alarm
	}
	return dim
}

// term writes a term behind a word, with the terms below it.
func (s Style) term(out *strings.Builder, word string, t Term, depth int) {
	head := "    " + fmt.Sprintf("%-6s", word) + strings.Repeat("  ", depth)
	if depth == 0 {
		head = "    " + s.paint(dim, fmt.Sprintf("%-6s", word))
	}
	value, of := t.came()
	if t.Failed != "" && slices.ContainsFunc(t.Terms, func(b Term) bool { return b.Failed == t.Failed }) {
		value = failed
	}
	arrow := " → " + s.paint(of, s.cut(value))
	text := t.Text
	if t.Item != "" {
		text = s.paint(dim, "for "+t.Item+":") + " " + text
	}
	out.WriteString(s.hang(head, 12+2*depth, text+arrow))
	for _, below := range slices.Concat(t.Terms, t.Each) {
		s.term(out, "", below, depth+1)
	}
	if t.More > 0 {
		out.WriteString(strings.Repeat(" ", 12+2*depth) + s.paint(dim, "… "+count(t.More, "more item", "more items")) + "\n")
	}
}

// came is what a term came to, and its tone.
func (t Term) came() (string, tone) {
	switch {
	case t.NotEvaluated:
		return "not evaluated", dim
	case t.Failed != "":
		return failed + ": " + t.Failed, alarm
	case t.Value == "true":
		return t.Value, added
	case t.Value == "false":
		return t.Value, removed
	}
	return t.Value, normal
}

// step writes a place, the value for it, and what that changed.
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
	out.WriteString(s.hang("    "+s.paint(dim, "writes")+" ", 12, s.short(o, text)))
	least := 0
	for i, edit := range step.Lines {
		if i == 0 || edit.depth < least {
			least = edit.depth
		}
	}
	for i, edit := range step.Lines {
		if i == mostLines {
			out.WriteString("         " + s.paint(dim, "… "+count(len(step.Lines)-i, "more line", "more lines")) + "\n")
			break
		}
		sign, of := "+ ", added
		if edit.Op == "remove" {
			sign, of = "- ", removed
		}
		out.WriteString("         " + s.paint(of, sign+s.fit(strings.Repeat("  ", edit.depth-least)+edit.Text, 11)) + "\n")
	}
}

// cut shortens a value that nobody would read.
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
