// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package explanation explains the outcome of each rule for an object, with the values of the parts of its condition.
// It hides values of Secrets. Start reading at Of.
package explanation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// explainer explains the rules of a selection for one object.
type explainer struct {
	ctx      context.Context
	program  *mutation.Program
	selected *mutation.Selection
	object   *target.Object
	views    mutation.Views
	skips    mutation.Skips
	// failed are the lookups that found nothing.
	failed []*scope.LookupError
}

// Explanation describes the effect of each rule for an object, and the reason. Its texts and terms contain no values of
// Secrets; the states of the object contain everything that the object contains.
type Explanation struct {
	// Rules lists the rules for the object in the order of their application, and those with forEach once per item.
	Rules []ExplainedRule
	// Missing lists the lookups that the rules for the object need and that found nothing.
	Missing []*scope.LookupError
	// Denied is the reason for denying the object, or nil. Outcomes then describe the decisions made before.
	Denied *mutation.Failure
	// Deleting reports that the object is being deleted, so that no rule is applied.
	Deleting bool
	// After is the object, as JSON, after the rules were applied. If it was denied, it is the original object.
	After []byte
}

// ExplainedRule is one rule for the object.
type ExplainedRule struct {
	// Applied is the outcome of the rule. It is empty if the object was denied before the outcome was known.
	mutation.Applied
	// Set locates the rule in the profile; Target and Operation name the object and the operation.
	Set               target.Set
	Target, Operation string
	// When is the condition. It is nil for a rule without one, and for a rule that was skipped before its condition was
	// evaluated.
	When *ExplainedTerm
	// ForEach has the expressions that compute the items of a rule with forEach.
	ForEach []ExplainedTerm
	// Steps lists the values that it wrote. It is empty if the rule was skipped.
	Steps []ExplainedStep
	// Failed is why the rule could not be computed or applied; nil when it could.
	Failed error
}

// ExplainedStep is one write of a rule with its effect.
type ExplainedStep struct {
	mutation.Step
	// Before and After are the object before and after the step, as JSON. They are nil for a step that was not applied.
	Before, After []byte
}

// track records the states of an object during an admission.
type track struct {
	last  []byte
	steps map[string][]ExplainedStep
}

// ExplainedTerm is a part of an expression with its value and the reason for it. It contains no values of Secrets.
type ExplainedTerm struct {
	// Text is the part as CEL writes it, in one line; Position is as in expression.Term.
	Text     string          `json:"text"`
	Position source.Position `json:"position,omitzero"`
	// Value is the value in readable form, or the replacement for a value from Secrets. It is empty if Failed or Skipped
	// explain its absence.
	Value string `json:"value,omitempty"`
	// Failed is the error, if there is no result.
	Failed string `json:"failed,omitempty"`
	// Skipped is true if the part was not evaluated, because another part had already decided.
	Skipped bool `json:"notEvaluated,omitempty"`
	// Terms are the parts that determined the value; for a variable of the profile, the parts of its expression.
	Terms []ExplainedTerm `json:"terms,omitempty"`
}

// planned plans each rule separately, so that one that cannot be computed does not hide the rest. It plans observed
// rules together with all rules, and enforced ones only with each other.
func (e *explainer) planned() []mutation.PlannedRule {
	all := e.plan(e.selected)
	if e.selected.Enforced == nil {
		return all
	}
	enforced := e.plan(e.selected.Enforced)
	merged := make([]mutation.PlannedRule, 0, len(all))
	for _, planned := range all {
		if !planned.Rule.Observed && len(enforced) > 0 {
			planned, enforced = enforced[0], enforced[1:]
		}
		merged = append(merged, planned)
	}
	return merged
}

func (e *explainer) plan(s *mutation.Selection) []mutation.PlannedRule {
	lenient := *s
	lenient.Mode.OmitFailing = true
	plan, err := lenient.Plan(e.ctx, e.program.Generation(), e.object, e.views)
	if err != nil {
		return nil // a lenient plan has no error
	}
	return plan.Rules
}

// rule explains one rule. denied is the reason for which the object is denied, or nil.
func (e *explainer) rule(planned mutation.PlannedRule, denied *mutation.Failure) ExplainedRule {
	r := planned.Rule
	explained := ExplainedRule{
		Applied: mutation.Applied{Profile: r.Profile, Rule: r.Name, Item: r.Item, Position: r.Position, Reason: planned.Skipped},
		Target:  r.Target.Name, Operation: r.Operation.Name, Failed: planned.Failed,
	}
	switch {
	case planned.Failed != nil:
		explained.Reason = ""
	case planned.Skipped != "":
		explained.Outcome = mutation.Skipped
	case denied != nil && denied.Message == "rule "+r.String():
		explained.Failed = denied
	}
	if e.skips.Reason(r) == "" {
		if missing := e.missing(r); missing != nil && planned.Skipped != mutation.ConditionFalse {
			explained.Failed = missing
		} else {
			e.terms(r, &explained)
		}
	}
	for _, step := range planned.Steps {
		explained.Steps = append(explained.Steps, ExplainedStep{Step: step})
	}
	return explained
}

// missing returns the error of a lookup that the rule needs and that found nothing, or nil.
func (e *explainer) missing(r *mutation.Rule) error {
	read := r.Scope.Reach(r.References()).Lookups
	for _, missing := range e.failed {
		if slices.Contains(read, missing.Lookup) {
			return fmt.Errorf("lookup %s is missing: %w", missing.Lookup.Request.Name, missing)
		}
	}
	return nil
}

// terms explains the condition of a rule and the source of its items.
func (e *explainer) terms(r *mutation.Rule, into *ExplainedRule) {
	variables, secret := operation.Variables(e.views.Of(r.Scope)), []string(nil)
	whole := r.Origin()
	if whole.ForEach != nil {
		secret = whole.Scope.NamesOf(whole.Target, whole.ForEach.Items.References())
		into.ForEach = e.templateTerms(whole, whole.ForEach.Items.Template, variables, nil)
		if r.Item == "" {
			return // a condition about an item has no value without items
		}
	}
	if r.When == nil {
		return
	}
	variables = r.WithItem(variables)
	term, err := r.When.Explain(e.ctx, variables)
	if err != nil {
		into.Failed = err
		return
	}
	t := e.term(r, term, variables, secret)
	if term.Value != nil {
		// The outcome of the rule already shows the value of the whole.
		t.Value = expression.Describe(term.Value)
	}
	into.When = &t
}

// Of processes an object as Admit does, and explains the outcome of each rule. Where Admit fails, it adds the error to
// the explanation. The request must have the Object; its documents are ignored.
func Of(ctx context.Context, p *mutation.Program, r mutation.Request, source facts.Source) (*Explanation, error) {
	r.Document, r.OldDocument = nil, nil
	selected, failure := p.SelectRules(r)
	if failure != nil {
		return nil, failure
	}
	explained := &Explanation{After: r.Object}
	if selected == nil {
		return explained, nil
	}
	object, failure := selected.Read(r)
	if failure != nil {
		explained.Denied = failure
		return explained, nil //nolint:nilerr // the explanation contains the denial
	}
	if explained.Deleting = object.BeingDeleted(); explained.Deleting {
		return explained, nil
	}
	tracked := &track{last: r.Object, steps: map[string][]ExplainedStep{}}
	result, err := p.Trace(ctx, r, source, tracked.observe)
	errors.As(err, &failure)
	explained.Denied = failure
	views, _ := selected.Facts(ctx, p.Generation(), r, object, source, func(e *scope.LookupError) {
		explained.Missing = append(explained.Missing, e)
	})
	e := explainer{ctx: ctx, program: p, selected: selected, object: object, views: views, failed: explained.Missing}
	e.skips = mutation.SkipsFor(p.Generation(), object)
	for _, planned := range e.planned() {
		rule := e.rule(planned, failure)
		rule.Set = r.Set
		explained.Rules = append(explained.Rules, rule)
	}
	if result != nil {
		explained.outcomes(result.Applied)
		explained.After = tracked.last
	}
	for i := range explained.Rules {
		tracked.complete(&explained.Rules[i])
	}
	return explained, nil
}

// outcomes copies the outcomes of the rules. They have the same order, unless it is unknown which of several observed
// rules would deny the object.
func (e *Explanation) outcomes(all []mutation.Applied) {
	same := len(all) == len(e.Rules)
	for i := range e.Rules {
		r := &e.Rules[i]
		for j, applied := range all {
			if same && i != j || applied.Profile != r.Profile || applied.Position != r.Position || same && applied.Item != r.Item {
				continue
			}
			r.Outcome = applied.Outcome
			if r.Outcome != mutation.Skipped || r.Reason == "" {
				r.Reason = applied.Reason
			}
		}
	}
}

// observe records the object before and after a step.
func (t *track) observe(rule mutation.Applied, step mutation.Step, o *target.Object) {
	after := o.Document.Bytes()
	key := trackKey(rule, step.Place)
	t.steps[key] = append(t.steps[key], ExplainedStep{Before: t.last, After: after})
	t.last = after
}

// complete adds the states of the object before and after each step of a rule.
func (t *track) complete(rule *ExplainedRule) {
	if rule.Outcome == mutation.Observed {
		return
	}
	for i := range rule.Steps {
		step := &rule.Steps[i]
		key := trackKey(rule.Applied, step.Place)
		if made := t.steps[key]; len(made) > 0 && step.Overridden == "" {
			step.Before, step.After = made[0].Before, made[0].After
			t.steps[key] = made[1:]
		}
	}
}

func trackKey(rule mutation.Applied, place operation.Place) string {
	return fmt.Sprintf("%s %s %q %v", rule.Profile, rule.Position, rule.Item, place)
}

// term converts a term for display; secret lists the Secrets that the items of the rule contain.
func (e *explainer) term(r *mutation.Rule, from expression.Term, variables operation.Variables, secret []string) ExplainedTerm {
	t := ExplainedTerm{Text: from.Text, Position: from.Position, Skipped: from.Skipped}
	names := r.Scope.NamesOf(r.Target, from.References)
	if scope.UsesItem(from.References) {
		names = append(names, secret...)
	}
	switch {
	case from.Skipped:
	case from.Failed != nil:
		t.Failed = from.Failed.Error()
		if failed, ok := errors.AsType[*expression.EvaluationError](from.Failed); ok {
			t.Failed = failed.Message // without its position, which is the term or inside it
		}
	case names != nil:
		t.Value = operation.Resolved{From: names}.String()
	default:
		t.Value = expression.Describe(from.Value)
	}
	for _, below := range from.Terms {
		t.Terms = append(t.Terms, e.term(r, below, variables, secret))
	}
	if len(from.Terms) == 0 && !from.Skipped {
		t.Terms = e.meanings(r, from.References, variables)
	}
	return t
}

// meanings explain the variables of the profile that a part names.
func (e *explainer) meanings(r *mutation.Rule, references []string, variables operation.Variables) []ExplainedTerm {
	var terms []ExplainedTerm
	for _, name := range scope.VariablesIn(references) {
		if declared := r.Scope.VariableOf[name]; declared != nil && declared.Template != nil && !declared.Template.Constant() {
			terms = append(terms, e.templateTerms(r, declared.Template, variables, nil)...)
		}
	}
	return terms
}

func (e *explainer) templateTerms(r *mutation.Rule, template *expression.Template, variables operation.Variables, secret []string) []ExplainedTerm {
	if template == nil {
		return nil
	}
	found, err := template.Explain(e.ctx, variables)
	if err != nil {
		return nil
	}
	var terms []ExplainedTerm
	for _, term := range found {
		terms = append(terms, e.term(r, term, variables, secret))
	}
	return terms
}

// RemovesNothing reports whether the step removes a value that no sample of the object has, because Gardener does not
// write it there. It returns false if there is no sample.
func RemovesNothing(s mutation.Step, o *target.Object) bool {
	if s.Kept || !s.Value.Absent {
		return false
	}
	found := false
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			parsed, err := document.Parse(raw)
			if err != nil {
				continue
			}
			request := mutation.CreationOf(parsed.Root(), plane.Garden)
			if plane.Garden != o.Target.Garden || !o.Form.Is(request.Group, request.Kind, request.Name) {
				continue
			}
			found = true
			sample := &target.Object{Target: o.Target, Form: o.Form, Document: parsed}
			if err := errors.Join(s.Write.Apply(sample, s.Value), sample.Flush()); err == nil && parsed.Changed() {
				return false
			}
		}
	}
	return found
}
