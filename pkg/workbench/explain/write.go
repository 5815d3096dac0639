// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/explanation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// TextStyle is the form of written explanations. The width of the terminal is 100 when it is 0.
type TextStyle render.Style

func (s TextStyle) withDefaults() TextStyle {
	if s.Width <= 0 {
		s.Width = 100
	}
	s.Width = max(s.Width, leastWidth)
	if s.File == nil {
		s.File = render.ShortFile
	}
	return s
}

// leastWidth is the minimum width for readable text.
const leastWidth = 40

func (s TextStyle) paint(t colour.Tone, text string) string { return t.Paint(s.Colour, text) }

const (
	// longest is how many characters of a value are shown, and mostLines how many lines of a step.
	longest   = 160
	mostLines = 12
	// shortValue is the maximum length of a structure that is written next to its lines.
	shortValue = 40
	// failed is the outcome of a rule that could not be computed or applied.
	failed = "failed"
)

// Write writes the effects of rules on the object as text. It fails if w cannot be written.
func (o *Explanation) Write(w io.Writer, s TextStyle) error {
	s = s.withDefaults()
	var out strings.Builder
	out.WriteString(s.writeHanging(s.paint(colour.Title, o.Object.String()), 2, ""))
	out.WriteString(s.writeHanging("  ", 2, cmp.Or(o.Note, o.summary())))
	if o.Denied != "" {
		out.WriteString(s.writeHanging("  "+s.paint(colour.Alarm, "denied")+"  ", 10, s.short(o, o.Denied)))
	}
	for _, missing := range o.Missing {
		out.WriteString(s.writeHanging("  "+s.paint(colour.Alarm, "missing")+"  ", 11, "lookup "+missing.Name+" of profile "+missing.Profile+": "+missing.Reason))
	}
	for i := range o.Rules {
		out.WriteByte('\n')
		s.rule(&out, o, i)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summary counts the rules by their outcomes.
func (o *Explanation) summary() string {
	text := count(len(o.Rules), "rule is", "rules are") + " for it"
	counts := map[string]int{}
	for i := range o.Rules {
		counts[o.Rules[i].Outcome]++
	}
	var parts []string
	for _, of := range []struct{ outcome, what string }{
		{string(mutation.Changed), "changed it"}, {string(mutation.Unchanged), "unchanged"}, {string(mutation.Skipped), "skipped"},
		{string(mutation.Overridden), "overridden"}, {string(mutation.Observed), "observed"}, {failed, "failed"}, {string(mutation.Denied), "denied it"},
		{"", "would apply"},
	} {
		if n := counts[of.outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of.what))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
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

// rule writes one rule: its outcome, position, reason and writes.
func (s TextStyle) rule(out *strings.Builder, o *Explanation, at int) {
	r := &o.Rules[at]
	outcome := cmp.Or(r.Outcome, "would apply")
	name := r.Name
	if slices.ContainsFunc(o.Rules, func(other AppliedRule) bool { return other.Set != r.Set }) {
		name += " (" + r.Set + ")"
	}
	left := fmt.Sprintf("%-11s %s", outcome, name)
	right := ""
	if r.Position.File != "" {
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
		out.WriteString(s.writeHanging("    ", 8, s.short(o, reason)))
	}
	if at == 0 || o.Rules[at-1].Position != r.Position {
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
func (r *AppliedRule) reason() string {
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
func (s TextStyle) short(o *Explanation, text string) string {
	for i := range o.Rules {
		if file := o.Rules[i].Position.File; file != "" {
			text = strings.ReplaceAll(text, file+":", s.File(file)+":")
		}
	}
	return text
}

func (s TextStyle) toneOf(outcome string) colour.Tone {
	switch outcome {
	case string(mutation.Changed):
		return colour.Added
	case failed, string(mutation.Denied):
		return colour.Alarm
	}
	return colour.Dim
}

// term writes a term behind a word, with the terms below it.
func (s TextStyle) term(out *strings.Builder, word string, t explanation.ExplainedTerm, depth int) {
	head := "    " + fmt.Sprintf("%-6s", word) + strings.Repeat("  ", depth)
	if depth == 0 {
		head = "    " + s.paint(colour.Dim, fmt.Sprintf("%-6s", word))
	}
	value, of := shownValue(t)
	if t.Failed != "" && slices.ContainsFunc(t.Terms, func(b explanation.ExplainedTerm) bool { return b.Failed == t.Failed }) {
		value = failed
	}
	arrow := " → " + s.paint(of, s.cut(value))
	out.WriteString(s.writeHanging(head, 12+2*depth, t.Text+arrow))
	for _, below := range t.Terms {
		s.term(out, "", below, depth+1)
	}
}

// shownValue returns the value of a term, and its tone.
func shownValue(t explanation.ExplainedTerm) (string, colour.Tone) {
	switch {
	case t.Skipped:
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
func (s TextStyle) step(out *strings.Builder, o *Explanation, step *Step) {
	text := step.Place + ": " + s.cut(step.Value)
	switch structured := strings.HasPrefix(step.Value, "{") || strings.HasPrefix(step.Value, "["); {
	case structured && len(step.Lines) > 0 && len(step.Value) > shortValue:
		text = step.Place
	case step.Kept:
		text = step.Place + ": stays what it is in the cluster"
	case step.Overridden != "":
		text += ", overridden by " + step.Overridden
	case step.applied && len(step.Lines) == 0:
		text += ", unchanged"
	}
	out.WriteString(s.writeHanging("    "+s.paint(colour.Dim, "writes")+" ", 12, s.short(o, text)))
	least := 0
	for i, edit := range step.Lines {
		if i == 0 || edit.Depth < least {
			least = edit.Depth
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
		out.WriteString("         " + s.paint(of, sign+s.fit(strings.Repeat("  ", edit.Depth-least)+edit.Text, 11)) + "\n")
	}
}

// cut shortens a long value.
func (s TextStyle) cut(value string) string {
	if n := utf8.RuneCountInString(value); n > longest {
		return string([]rune(value)[:longest]) + fmt.Sprintf("… (%d characters)", n)
	}
	return value
}

// fit cuts a line to the width.
func (s TextStyle) fit(text string, indent int) string {
	if width := s.Width - indent; utf8.RuneCountInString(text) > width {
		return string([]rune(text)[:width-1]) + "…"
	}
	return text
}

// writeHanging writes a text after a head with a hanging indent, in lines of the style's width.
func (s TextStyle) writeHanging(head string, indent int, text string) string {
	var out strings.Builder
	for _, line := range wrap(text, s.Width-visible(head), s.Width-indent) {
		out.WriteString(strings.TrimRight(head+line, " ") + "\n")
		head = strings.Repeat(" ", indent)
	}
	return out.String()
}

// visible returns the width of a text without its colours.
func visible(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wrap breaks a text at spaces into at least one line, and words that are longer than a line; the first line may have
// another width.
func wrap(text string, width, others int) []string {
	lines, used := []string{""}, 0
	add := func(word string) {
		length, last := visible(word), len(lines)-1
		switch {
		case used == 0:
			lines[last], used = word, length
		case used+1+length > width:
			lines, used, width = append(lines, word), length, others
		default:
			lines[last], used = lines[last]+" "+word, used+1+length
		}
	}
	for word := range strings.FieldsSeq(text) {
		for visible(word) > others && !strings.Contains(word, "\x1b") {
			runes := []rune(word)
			add(string(runes[:others]))
			word = string(runes[others:])
		}
		add(word)
	}
	return lines
}
