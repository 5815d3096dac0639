// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// reader converts the engine's explanation of an object for display.
type reader struct {
	object *Object
	veil   func(string) string
	// hide hides secret values in a line of the object.
	hide func(render.Line) render.Line
	// lines caches the lines of states of the object by the address of their bytes: the state after one step is that
	// before the next.
	lines map[*byte][]render.Line
}

// add adds the effects of one set of webhooks.
func (r *reader) add(e *mutation.Explanation) {
	r.object.Elsewhere += e.Elsewhere
	if e.Denied != nil {
		r.object.Denied = r.veil(e.Denied.Error())
	}
	if e.Deleting {
		r.object.Note = "the object is being deleted: no rule is applied"
	}
	for _, lookup := range e.Lookups {
		if lookup.Failed != nil {
			r.object.Missing = append(r.object.Missing, Lookup{
				Profile: lookup.Profile, Name: lookup.Name, Object: lookup.Kind + " " + lookup.Object, Reason: lookup.Failed.Error(),
			})
		}
	}
	for i := range e.Rules {
		r.object.Rules = append(r.object.Rules, r.rule(&e.Rules[i]))
	}
}

func (r *reader) rule(e *mutation.ExplainedRule) Rule {
	rule := Rule{
		Profile: e.Profile, Name: e.Name(), Set: string(e.Set), Target: e.Target, Position: position(e.Position), Operation: e.Operation,
		Outcome: string(e.Outcome), Reason: e.Reason, ForEach: terms(e.ForEach), writes: e.Writes,
	}
	if e.When != nil {
		when := term(*e.When)
		rule.When = &when
	}
	if e.Failed != nil {
		rule.Outcome, rule.Reason = outcomeOf(e), r.veil(withoutRule(e))
	}
	for _, step := range e.Steps {
		rule.Steps = append(rule.Steps, r.step(step))
	}
	return rule
}

// outcomeOf returns the outcome of a failed rule: a denial with a true condition is denied.
func outcomeOf(e *mutation.ExplainedRule) string {
	if failure := new(mutation.Failure); errors.As(e.Failed, &failure) && failure.By != nil {
		return string(mutation.Denied)
	}
	return failed
}

// withoutRule returns the reason of a failure without the rule's name, which precedes it in the output.
func withoutRule(e *mutation.ExplainedRule) string {
	var failure *mutation.Failure
	if errors.As(e.Failed, &failure) && failure.Err != nil && strings.HasPrefix(failure.Message, "rule ") {
		return failure.Err.Error()
	}
	return e.Failed.Error()
}

func (r *reader) step(s mutation.ExplainedStep) Step {
	step := Step{Place: s.Place.String(), Kept: s.Kept, Overridden: s.Overridden, step: s}
	if !s.Kept {
		step.Value = s.Value.String()
	}
	if s.Before == nil || s.After == nil {
		return step
	}
	blame := render.NewBlame(r.text(s.Before))
	blame.Advance(render.Author{}, r.text(s.After))
	for _, edit := range blame.Edits() {
		edit.Line = r.hide(edit.Line)
		switch edit.Op {
		case render.Added:
			step.Lines = append(step.Lines, Edit{"add", line(edit.Line)})
		case render.Removed:
			step.Lines = append(step.Lines, Edit{"remove", line(edit.Line)})
		}
	}
	return step
}

// shown returns the lines of an object without secret values.
func (r *reader) shown(object []byte) []render.Line {
	lines := slices.Clone(r.text(object))
	for i := range lines {
		lines[i] = r.hide(lines[i])
	}
	return lines
}

// text returns the lines of an object, including values from Secrets in rules; the data of a Secret itself is removed.
func (r *reader) text(object []byte) []render.Line {
	if len(object) == 0 {
		return nil
	}
	if known, ok := r.lines[&object[0]]; ok {
		return known
	}
	lines, err := render.Text(object)
	if err != nil {
		lines = nil // it was read before
	}
	if r.object.Object.Kind == "Secret" {
		lines = r.withoutData(lines)
	}
	r.lines[&object[0]] = lines
	return lines
}

// secretFields lists the fields of a Secret that are hidden: its data, and annotations, because kubectl keeps a copy of
// the data there.
var secretFields = []string{"data.", "stringData.", "metadata.annotations."}

// withoutData has one line for each value of a Secret, which does not tell it.
func (r *reader) withoutData(lines []render.Line) []render.Line {
	var shown []render.Line
	last := ""
	for _, l := range lines {
		i := slices.IndexFunc(secretFields, func(prefix string) bool { return strings.HasPrefix(l.Path, prefix) })
		if i < 0 {
			shown = append(shown, l)
			continue
		}
		if l.Path != last {
			l.Text = strings.TrimPrefix(l.Path, secretFields[i]) + ": " + fromSecret(r.object.Object.Name)
			shown = append(shown, l)
		}
		last = l.Path
	}
	return shown
}

func line(l render.Line) Line { return Line{Path: l.Path, Text: l.Text, depth: l.Depth} }

func terms(all []mutation.Term) []Term {
	var out []Term
	for _, one := range all {
		out = append(out, term(one))
	}
	return out
}

func term(t mutation.Term) Term {
	out := Term{Text: t.Text, Position: position(t.Position), Value: t.Value, Failed: t.Failed, NotEvaluated: t.Skipped, Terms: terms(t.Terms),
		Each: terms(t.Each), More: t.More, Item: t.Item}
	if t.From != nil {
		out.Value = fromSecret(t.From...)
	}
	return out
}

// fromSecret returns the replacement for a value from Secrets, as in plans.
func fromSecret(names ...string) string {
	return fmt.Sprintf("(from Secret %s)", strings.Join(names, ", "))
}

func position(p source.Position) *Position {
	if p == (source.Position{}) {
		return nil
	}
	return &Position{File: p.File, Line: p.Line, Column: p.Column}
}
