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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
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
	lookups  []ExplainedLookup
	// seen counts the rules of items by their names in messages, because two may have the same name.
	seen map[string]int
}

// Explanation describes the effect of each rule for an object, and the reason. Its texts and terms contain no values of
// Secrets; the states of the object contain everything that the object contains.
type Explanation struct {
	// Target is the name of the target; empty if the object has no rule.
	Target string
	// Rules lists the rules for the object in the order of their application, and those with forEach once per item.
	Rules []ExplainedRule
	// Elsewhere counts the rules of the same set and provider for other objects.
	Elsewhere int
	// Lookups lists the lookups that the rules for the object need.
	Lookups []ExplainedLookup
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
	// Set and Path locate the rule in the profile; Target and Operation name the object and the operation.
	Set                     target.Set
	Path, Target, Operation string
	// When is the condition. It is nil for a rule without one, and for a rule that was skipped before its condition was
	// evaluated.
	When *ExplainedTerm
	// ForEach has the expressions that compute the items of a rule with forEach.
	ForEach []ExplainedTerm
	// Writes lists the places that the rule writes if it applies. For forEach without an item, these are samples.
	Writes []ExplainedWrite
	// Steps lists the values that it wrote. It is empty if the rule was skipped.
	Steps []ExplainedStep
	// Failed is why the rule could not be computed or applied; nil when it could.
	Failed error
}

// ExplainedWrite is a place that a rule writes.
type ExplainedWrite struct {
	Place operation.Place
	// Flag is the flag, without dashes, that contains the place. It is empty for other places.
	Flag string
	// At is the position of the value in the profile.
	At source.Position
}

// ExplainedStep is one write of a rule with its effect.
type ExplainedStep struct {
	mutation.Step
	// Flag and At are the flag and the place of the write.
	Flag string
	At   source.Position
	// Before and After are the object before and after the step, as JSON. They are nil for a step that was not applied.
	Before, After []byte
}

// ExplainedLookup is a lookup that rules for the object need.
type ExplainedLookup struct {
	// Profile and Name identify the lookup; Kind and Object are the kind and the name, as written in the profile, of
	// the object that it reads.
	Profile, Name, Kind, Object string
	// Failed is why nothing was found; nil when something was, or when nothing had to be.
	Failed error
	// Skips is true if rules that need a missing lookup are skipped. Otherwise the object is denied.
	Skips bool
}

// track records the states of an object during an admission.
type track struct {
	last  []byte
	steps map[string][]ExplainedStep
}

// ExplainedTerm is a part of an expression with its value and the reason for it. It contains no values of Secrets.
type ExplainedTerm struct {
	// Text is the part as CEL writes it, in one line; Position is where it begins.
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
		Path:    r.Path, Target: r.Target.Name, Operation: r.Operation.Name, Failed: planned.Failed,
	}
	switch {
	case planned.Failed != nil:
		explained.Reason = ""
	case planned.Skipped != "":
		explained.Outcome = mutation.Skipped
	case denied != nil && denied.Message == "rule "+r.String():
		explained.Failed = denied
	}
	if e.concerns(r) {
		if denies, reason := e.missing(r); denies {
			explained.Outcome, explained.Failed = "", reason
		} else if reason != nil {
			explained.Reason = reason.Error()
		} else {
			e.terms(r, &explained)
		}
	}
	for i := range r.Writes {
		w := &r.Writes[i]
		explained.Writes = append(explained.Writes, ExplainedWrite{w.Place, mutation.FlagOf(w.Place), w.At.Position()})
	}
	for _, step := range planned.Steps {
		explained.Steps = append(explained.Steps, ExplainedStep{Step: step, Flag: mutation.FlagOf(step.Place), At: step.Write.At.Position()})
	}
	return explained
}

// concerns reports whether the rule was considered: the object has the part that the rule edits, and the contract
// allows the change.
func (e *explainer) concerns(r *mutation.Rule) bool {
	_, locked := contract.ServiceLocked(e.object, e.program.Generation())
	return !locked && r.Misses(e.object) == ""
}

// missing reports whether the object is denied because a required lookup of the rule found nothing, with the reason.
// The reason is nil if all lookups found an object.
func (e *explainer) missing(r *mutation.Rule) (denies bool, reason error) {
	shown := e.views.Missing(r)
	if shown == "" {
		return false, nil
	}
	read := r.Scope.Reach(r.References()).Lookups[r.Scope]
	for _, l := range e.lookups {
		if l.Profile == r.Profile && read[l.Name] && l.Failed != nil {
			return !l.Skips || !errors.Is(l.Failed, facts.ErrNotFound), fmt.Errorf("lookup %s is missing: %w", l.Name, l.Failed)
		}
	}
	return false, errors.New(shown)
}

// terms explains the condition of a rule and the source of its items.
func (e *explainer) terms(r *mutation.Rule, into *ExplainedRule) {
	variables, secret := e.views.Of(r.Scope), []string(nil)
	whole := r.Origin()
	if whole.ForEach != nil {
		secret = secretNamesIn(whole.Scope, whole.Target, whole.ForEach.Items.References())
		into.ForEach = e.templateTerms(whole, whole.ForEach.Items.Template, variables, nil)
		if r.Item == "" {
			return // a condition about an item has no value without items
		}
		variables = e.itemOf(r, variables)
	}
	if r.When == nil || variables == nil {
		return
	}
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

// itemOf returns the variables for the expressions of an item's rule.
func (e *explainer) itemOf(r *mutation.Rule, variables operation.Variables) operation.Variables {
	found, err := r.Origin().ForEach.ItemsFor(e.ctx, variables)
	if err != nil {
		return nil
	}
	name := r.String()
	earlier := e.seen[name]
	e.seen[name]++
	for _, it := range found {
		if it.Label != r.Item {
			continue
		}
		if earlier == 0 {
			return it.In(variables)
		}
		earlier--
	}
	return nil
}

// readNeededFacts reads all facts that the rules of the selection need, and reports the result of each lookup. It
// continues if some are missing.
func readNeededFacts(
	ctx context.Context, p *mutation.Program, s *mutation.Selection, r mutation.Request, o *target.Object, source facts.Source,
) (mutation.Views, []ExplainedLookup) {
	failed := map[*scope.Lookup]error{}
	found, _ := s.Facts(ctx, p.Generation(), r, o, source, func(e *scope.LookupError) bool {
		failed[e.Lookup] = e.Cause
		return true
	})
	var lookups []ExplainedLookup
	needs := s.NeedsFor(p.Generation(), o)
	for _, l := range needs.Used() {
		lookups = append(lookups, ExplainedLookup{
			Profile: l.Profile, Name: l.Request.Name, Kind: l.Request.Kind, Object: l.Shown, Skips: l.Skip, Failed: failed[l],
		})
	}
	return found, lookups
}

// Of processes an object as Admit does, and explains the outcome of each rule. Where Admit fails, it adds the error to
// the explanation. The request must have the Object; its documents are ignored.
func Of(ctx context.Context, p *mutation.Program, r mutation.Request, source facts.Source) (*Explanation, error) {
	r.Document, r.OldDocument = nil, nil
	selected, failure := p.SelectRules(r)
	if failure != nil {
		return nil, failure
	}
	if selected == nil {
		return &Explanation{Elsewhere: rulesElsewhere(p, r, nil), After: r.Object}, nil
	}
	explained := &Explanation{Target: selected.Target.Subject(), Elsewhere: rulesElsewhere(p, r, selected), After: r.Object}
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
	views, lookups := readNeededFacts(ctx, p, selected, r, object, source)
	explained.Lookups = lookups
	e := explainer{ctx: ctx, program: p, selected: selected, object: object, views: views, lookups: lookups, seen: map[string]int{}}
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

// rulesElsewhere counts the rules of a set and provider that are not among those of a selection.
func rulesElsewhere(p *mutation.Program, r mutation.Request, selected *mutation.Selection) int {
	seen := map[*mutation.Rule]bool{}
	if selected != nil {
		for _, rule := range selected.Rules {
			seen[rule] = true
		}
	}
	here := len(seen)
	for key, other := range p.Selections() {
		if key != (mutation.ScopeKey{Set: r.Set, Provider: r.Provider, Garden: r.Garden}) {
			continue
		}
		for _, rule := range other.Rules {
			seen[rule] = true
		}
	}
	return len(seen) - here
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
	names := secretNamesIn(r.Scope, r.Target, from.References)
	if scope.UsesItem(from.References) {
		names = append(names, secret...)
	}
	switch {
	case from.Skipped:
	case from.Failed != nil:
		t.Failed = failedBecause(from.Failed)
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

// failedBecause returns the message of a failed evaluation, without its position, which is the term or inside it.
func failedBecause(err error) string {
	var failed *expression.EvaluationError
	if errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

// secretNamesIn returns the Secrets that a value with these references contains or may contain, or nil. They include the
// Secret that is being admitted.
func secretNamesIn(s *scope.Scope, t *target.Target, references []string) []string {
	form := t.Forms[0]
	own := form.Group == "" && form.Kind == facts.Secret.Kind && s.RevealsObject(references)
	return s.NamesOf(t, references, own)
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
