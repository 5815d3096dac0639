// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// writeInterpretation writes what rules say of an object as text.
func (s Style) writeInterpretation(w io.Writer, i *Interpretation) error {
	s = s.withDefaults()
	var out strings.Builder
	out.WriteString(s.hang(s.paint(colour.Title, i.Operation+" of "+i.Object.String()), 2, ""))
	if len(i.Rules) > 0 {
		out.WriteString(s.hang("  ", 2, i.summary()))
	}
	if i.Failure != "" {
		out.WriteString(s.hang("  "+s.paint(colour.Alarm, "fails")+"  ", 9, fmt.Sprintf("%d %s", i.Code, i.Failure)))
	}
	for _, name := range slices.Sorted(maps.Keys(i.Answer)) {
		s.answer(&out, name, i.Answer[name])
	}
	if i.Failure == "" && len(i.Answer) == 0 {
		out.WriteString(s.hang("  ", 2, i.nothing()))
	}
	for n := range i.Rules {
		out.WriteByte('\n')
		s.interpretationRule(&out, &i.Rules[n])
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// answer writes a part of an answer: in one line where it is short, else as YAML below its name.
func (s Style) answer(out *strings.Builder, name string, value json.RawMessage) {
	if len(value) <= shortValue {
		out.WriteString(s.hang("  "+s.paint(colour.Heading, name)+"  ", 4, string(value)))
		return
	}
	out.WriteString("  " + s.paint(colour.Heading, name) + "\n")
	s.lines(out, value, 4)
}

// nothing is what an answer without anything means.
func (i *Interpretation) nothing() string {
	if i.Operation == "components" || i.Operation == "dependencies" {
		return "there are no " + i.Operation
	}
	return "nothing is changed"
}

// summary counts the rules by what became of them.
func (i *Interpretation) summary() string {
	counts := map[string]int{}
	for _, r := range i.Rules {
		counts[r.Outcome]++
	}
	var parts []string
	for _, of := range []struct{ outcome, what string }{
		{string(rule.Applied), "applied"}, {string(rule.Unchanged), "already so"}, {string(rule.Skipped), "skipped"}, {string(rule.NotAsked), "not asked"},
		{string(rule.Refused), "refused it"}, {string(rule.Failed), "failed"},
	} {
		if n := counts[of.outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of.what))
		}
	}
	return count(len(i.Rules), "rule is", "rules are") + " for it: " + strings.Join(parts, ", ")
}

// interpretationRule writes one rule: what became of it and where it stands, and why.
func (s Style) interpretationRule(out *strings.Builder, r *InterpretationRule) {
	outcome := r.Outcome
	if outcome == string(rule.Unchanged) {
		outcome = "already so"
	}
	left := fmt.Sprintf("%-11s %s", outcome, r.Name)
	line := s.paint(s.toneOfInterpretation(r.Outcome), fmt.Sprintf("%-11s", outcome)) + " " + s.paint(colour.Title, r.Name)
	if r.Position != nil {
		right := fmt.Sprintf("%s:%d", s.File(r.Position.File), r.Position.Line)
		if gap := s.Width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right); gap >= 2 {
			line += strings.Repeat(" ", gap) + s.paint(colour.Dim, right)
		} else {
			line += "\n    " + s.paint(colour.Dim, "at "+right)
		}
	}
	out.WriteString(line + "\n")
	if r.Reason != "" && r.Outcome != string(rule.Refused) { // that stands above
		out.WriteString(s.hang("    ", 8, r.Reason))
	}
	for _, t := range r.ForEach {
		s.term(out, "each", t, 0)
	}
	if r.When != nil {
		s.term(out, "when", *r.When, 0)
	}
	for _, item := range r.Items {
		if item.Text == "" {
			item.Text = "the rule has no condition"
		}
		s.term(out, "item", item, 0)
	}
	if r.Healthy != nil {
		s.term(out, "says", *r.Healthy, 0)
	}
	for i := range r.Writes {
		s.written(out, &r.Writes[i], r.Position)
	}
}

func (s Style) toneOfInterpretation(outcome string) colour.Tone {
	switch outcome {
	case string(rule.Applied):
		return colour.Added
	case string(rule.Refused), string(rule.Failed):
		return colour.Alarm
	}
	return colour.Dim
}
