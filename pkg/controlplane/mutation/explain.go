// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// explainer explains the rules of a selection for one object.
type explainer struct {
	ctx      context.Context
	program  *Program
	selected *selection
	object   *target.Object
	views    views
	lookups  []ExplainedLookup
	// seen counts the members of families by their names in messages, because two may have the same name.
	seen map[string]int
}

// attempt is a rule as it was planned, with why it could not be.
type attempt struct {
	PlannedRule
	failed error
}

// attempts plans each rule separately, so that one that cannot be computed does not hide the rest. It plans observed
// rules together with all rules, and enforced ones only with each other.
func (e *explainer) attempts() []attempt {
	all := e.plan(e.selected)
	if e.selected.enforced == nil {
		return all
	}
	enforced := e.plan(e.selected.enforced)
	merged := make([]attempt, 0, len(all))
	for _, a := range all {
		if !a.rule.observed && len(enforced) > 0 {
			a, enforced = enforced[0], enforced[1:]
		}
		merged = append(merged, a)
	}
	return merged
}

// rule explains one rule; denied is why the object is not admitted.
func (e *explainer) rule(a attempt, denied *Failure) ExplainedRule {
	r := a.rule
	explained := ExplainedRule{
		Applied: Applied{Profile: r.profile, Rule: r.name, Item: r.item, Position: r.position, Reason: a.Skipped},
		Path:    r.path, Target: r.target.Name, Operation: r.operation.Name, Failed: a.failed,
	}
	switch {
	case a.failed != nil:
		explained.Reason = ""
	case a.Skipped != "":
		explained.Outcome = Skipped
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
	for i := range r.writes {
		w := &r.writes[i]
		explained.Writes = append(explained.Writes, ExplainedWrite{w.Place, flagOf(w.Place), w.At.Position()})
	}
	for _, step := range a.Steps {
		explained.Steps = append(explained.Steps, ExplainedStep{Step: step, Flag: flagOf(step.Place), At: step.write.At.Position()})
	}
	return explained
}

// concerns reports whether the rule was considered: the object has the part that the rule edits, and the contract
// allows the change.
func (e *explainer) concerns(r *rule) bool {
	_, locked := contract.ServiceLocked(e.object, e.program.generation)
	return !locked && r.misses(e.object) == ""
}

// missing reports whether the object is denied because a required lookup of the rule found nothing, with the reason.
// The reason is nil if all lookups found an object.
func (e *explainer) missing(r *rule) (denies bool, reason error) {
	shown := e.views.missing(r)
	if shown == "" {
		return false, nil
	}
	read := r.scope.reach(r.references()).lookups[r.scope]
	for _, l := range e.lookups {
		if l.Profile == r.profile && read[l.Name] && l.Failed != nil {
			return !l.Skips || !errors.Is(l.Failed, facts.ErrNotFound), fmt.Errorf("lookup %s is missing: %w", l.Name, l.Failed)
		}
	}
	return false, errors.New(shown)
}

// terms explains the condition of a rule and the source of its items.
func (e *explainer) terms(r *rule, into *ExplainedRule) {
	variables, secret := e.views.of(r.scope), []string(nil)
	whole := r.origin()
	if whole.family != nil {
		secret = secretNamesIn(whole.scope, whole.target, whole.family.items.references())
		into.ForEach = e.templateTerms(whole, whole.family.items.template, variables, nil)
		if r.item == "" {
			return // there is no item that the condition could be about
		}
		variables = e.itemOf(r, variables)
	}
	if r.when == nil || variables == nil {
		return
	}
	term, err := r.when.Explain(e.ctx, variables)
	if err != nil {
		into.Failed = err
		return
	}
	t := e.term(r, term, variables, secret)
	if term.Value != nil {
		// The outcome of the rule already shows the value of the whole.
		t.Value, t.From = describeTerm(term), nil
	}
	into.When = &t
}

// itemOf returns the variables for the expressions of a member of a family.
func (e *explainer) itemOf(r *rule, variables operation.Variables) operation.Variables {
	found, err := r.origin().family.itemsFor(e.ctx, variables)
	if err != nil {
		return nil
	}
	name := r.String()
	earlier := e.seen[name]
	e.seen[name]++
	for _, it := range found {
		if it.label != r.item {
			continue
		}
		if earlier == 0 {
			return itemView{variables, it.value}
		}
		earlier--
	}
	return nil
}

// surveyRules reads all facts that the rules of the selection need. It continues if some are missing.
func surveyRules(ctx context.Context, s *selection, g contract.Generation, r Request, o *target.Object, source facts.Source) (views, []ExplainedLookup) {
	needs := s.needsFor(g, o)
	found := &facts.Facts{}
	if needs.cluster {
		if read, err := readFacts(ctx, r.Namespace, o, source); err == nil {
			found = read
		}
	}
	object := describe(ctx, o, r)
	base := found.Activation(object, r.Operation)
	result := make(views, len(needs.scopes))
	var lookups []ExplainedLookup
	for i, scope := range needs.scopes {
		result[i] = &view{parent: base, context: ctx, scope: scope, facts: found, pool: object.Labels[facts.LabelWorkerPool], missing: map[string]bool{}}
		lookups = append(lookups, result[i].survey(ctx, r.Namespace, needs.lookups[scope], source)...)
	}
	return result, lookups
}

// survey makes the named lookups and reports the result of each.
func (v *view) survey(ctx context.Context, namespace string, named map[string]bool, source facts.Source) []ExplainedLookup {
	found := map[string]*facts.Found{}
	var explained []ExplainedLookup
	for _, l := range v.scope.lookups {
		if !named[l.request.Name] {
			continue
		}
		e := ExplainedLookup{Profile: l.profile, Name: l.request.Name, Kind: l.request.Kind, Object: l.shown, Skips: l.skip}
		values, failure := l.read(ctx, namespace, v, source)
		if failure != nil {
			v.missing[e.Name] = true
			e.Failed = errors.Unwrap(failure)
		} else {
			found[e.Name] = values
		}
		explained = append(explained, e)
	}
	v.lookups = v.scope.lookupsType.Value(found)
	return explained
}

// Explanation describes the effect of each rule for an object, and the reason. Its texts and terms contain no values of
// Secrets; the states of the object contain everything that the object contains.
type Explanation struct {
	// Target is the name of the target; empty when no rule is for the object.
	Target string
	// Rules lists the rules for the object in the order of their application, and those with forEach once per item.
	Rules []ExplainedRule
	// Elsewhere counts the rules of the same set and provider for other objects.
	Elsewhere int
	// Lookups are those that the rules for the object need.
	Lookups []ExplainedLookup
	// Denied is the reason for denying the object, or nil. Outcomes then describe the decisions made before.
	Denied *Failure
	// Deleting says that the object is being deleted, so that no rule is applied.
	Deleting bool
	// After is the object, as JSON, after the rules were applied. If it was denied, it is the original object.
	After []byte
}

// ExplainedRule is one rule for the object.
type ExplainedRule struct {
	// Applied is the outcome of the rule. It is empty if the object was denied before the outcome was known.
	Applied
	// Set and Path locate the rule in the profile; Target and Operation name the object and the operation.
	Set                     target.Set
	Path, Target, Operation string
	// When is the condition; nil for a rule without, and for one that was skipped before the condition was asked.
	When *Term
	// ForEach are the expressions of the list or mapping that a rule with forEach is for.
	ForEach []Term
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

// ExplainedStep is one write of a rule as it was made.
type ExplainedStep struct {
	Step
	// Flag and At are those of the write.
	Flag string
	At   source.Position
	// Before and After are the object around the step, as JSON; nil for a step that was not made.
	Before, After []byte
}

// ExplainedLookup is a lookup that rules for the object need.
type ExplainedLookup struct {
	// Profile and Name identify the lookup; Kind and Object are the kind and the name, as written in the profile, of
	// the object that it reads.
	Profile, Name, Kind, Object string
	// Failed is why nothing was found; nil when something was, or when nothing had to be.
	Failed error
	// Skips says that rules which need it are left out then, rather than the object denied.
	Skips bool
}

// Explain processes an object as Admit does, and explains the outcome of each rule. Where Admit fails, Explain adds the
// error to the explanation. The request must have the Object; its documents are ignored.
func (p *Program) Explain(ctx context.Context, r Request, source facts.Source) (*Explanation, error) {
	r.Document, r.OldDocument = nil, nil
	selected, failure := p.selectRules(r)
	if failure != nil {
		return nil, failure
	}
	if selected == nil {
		return &Explanation{Elsewhere: rulesElsewhere(p, r, nil), After: r.Object}, nil
	}
	explained := &Explanation{Target: selected.target.Subject(), Elsewhere: rulesElsewhere(p, r, selected), After: r.Object}
	object, failure := selected.read(r)
	if failure != nil {
		explained.Denied = failure
		return explained, nil //nolint:nilerr // why it is denied is what is explained
	}
	if explained.Deleting = object.BeingDeleted(); explained.Deleting {
		return explained, nil
	}
	tracked := newTrack(r.Object)
	result, failure := p.admit(ctx, r, source, tracked.observe)
	explained.Denied = failure
	views, lookups := surveyRules(ctx, selected, p.generation, r, object, source)
	explained.Lookups = lookups
	e := explainer{ctx: ctx, program: p, selected: selected, object: object, views: views, lookups: lookups, seen: map[string]int{}}
	for _, attempt := range e.attempts() {
		rule := e.rule(attempt, failure)
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
func rulesElsewhere(p *Program, r Request, selected *selection) int {
	seen := map[*rule]bool{}
	if selected != nil {
		for _, rule := range selected.rules {
			seen[rule] = true
		}
	}
	here := len(seen)
	for _, forms := range p.scopes[scopeKey{set: r.Set, provider: r.Provider, garden: r.Garden}] {
		for _, rule := range forms.rules {
			seen[rule] = true
		}
	}
	return len(seen) - here
}

// outcomes copies the outcomes of the rules. They have the same order, unless it is unknown which of several observed
// rules would deny the object.
func (e *Explanation) outcomes(all []Applied) {
	same := len(all) == len(e.Rules)
	for i := range e.Rules {
		r := &e.Rules[i]
		for j, applied := range all {
			if same && i != j || applied.Profile != r.Profile || applied.Position != r.Position || same && applied.Item != r.Item {
				continue
			}
			r.Outcome = applied.Outcome
			if r.Outcome != Skipped || r.Reason == "" {
				r.Reason = applied.Reason
			}
		}
	}
}

// track follows the states of an object through an admission.
type track struct {
	last  []byte
	steps map[string][]ExplainedStep
}

func newTrack(object []byte) *track { return &track{last: object, steps: map[string][]ExplainedStep{}} }

// observe keeps the object around each step.
func (t *track) observe(rule Applied, step Step, o *target.Object) {
	after := o.Document.Bytes()
	key := trackKey(rule, step.Place)
	t.steps[key] = append(t.steps[key], ExplainedStep{Before: t.last, After: after})
	t.last = after
}

// complete gives the steps of a rule the states around them.
func (t *track) complete(rule *ExplainedRule) {
	if rule.Outcome == Observed {
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

func trackKey(rule Applied, place operation.Place) string {
	return fmt.Sprintf("%s %s %q %v", rule.Profile, rule.Position, rule.Item, place)
}

// Term is a part of an expression with its value and the reason for it. It contains no values of Secrets.
type Term struct {
	// Text is the part as CEL writes it, in one line; Position is where it begins.
	Text     string
	Position source.Position
	// Value is the value in readable form. It is empty if From, Failed or Skipped explain its absence.
	Value string
	// From lists the Secrets that the value contains, so that it is hidden.
	From []string
	// Failed is why it came to nothing.
	Failed string
	// Skipped says that it was not evaluated, as another part had decided already.
	Skipped bool
	// Terms are the parts that had a say in it; below a variable of the profile those of its expression.
	Terms []Term
	// Each has, for a macro such as exists, the value of its condition for each Item up to the deciding one; More
	// counts the omitted items.
	Each []Term
	More int
	// Item is the name of the item that a term in Each describes.
	Item string
}

// term converts a term for display; secret lists the Secrets that the items of the rule contain.
func (e *explainer) term(r *rule, from expression.Term, variables operation.Variables, secret []string) Term {
	t := Term{Text: from.Text, Position: from.Position, Skipped: from.Skipped, More: from.More}
	references := slices.Concat(from.References, from.Items)
	t.From = secretNamesIn(r.scope, r.target, references)
	if usesItem(references) {
		t.From = append(t.From, secret...)
	}
	switch {
	case from.Skipped:
		t.From = nil
	case from.Failed != nil:
		t.Failed, t.From = failedBecause(from.Failed), nil
	case t.From == nil:
		t.Value = describeTerm(from)
	}
	for _, below := range from.Terms {
		t.Terms = append(t.Terms, e.term(r, below, variables, secret))
	}
	for i, item := range from.Each {
		below := e.term(r, item, variables, secret)
		below.Item = fmt.Sprint(i)
		if secretNamesIn(r.scope, r.target, item.Items) == nil && (secret == nil || !usesItem(item.Items)) {
			below.Item = labelOf(item.Item, i)
		}
		t.Each = append(t.Each, below)
	}
	if len(from.Terms)+len(from.Each) == 0 && !from.Skipped {
		t.Terms = e.meanings(r, from.References, variables)
	}
	return t
}

// meanings explain the variables of the profile that a part names.
func (e *explainer) meanings(r *rule, references []string, variables operation.Variables) []Term {
	var terms []Term
	for _, name := range variablesIn(references) {
		if declared := r.scope.variableOf[name]; declared != nil && declared.template != nil && !declared.template.Constant() {
			terms = append(terms, e.templateTerms(r, declared.template, variables, nil)...)
		}
	}
	return terms
}

func (e *explainer) templateTerms(r *rule, template *expression.Template, variables operation.Variables, secret []string) []Term {
	if template == nil {
		return nil
	}
	found, err := template.Explain(e.ctx, variables)
	if err != nil {
		return nil
	}
	var terms []Term
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

func describeTerm(t expression.Term) string { return expression.Describe(t.Value) }

// secretNamesIn returns the Secrets that a value with these references contains or may contain, or nil.
func secretNamesIn(s *scope, t *target.Target, references []string) []string {
	return s.namesOf(t, references, tellsSecretOf(s, t, references))
}

// tellsSecretOf reports whether a value with these references contains or may contain data of a Secret that is being
// admitted.
func tellsSecretOf(s *scope, t *target.Target, references []string) bool {
	form := t.Forms[0]
	return form.Group == "" && form.Kind == facts.Secret.Kind && s.tellsObject(references)
}

func (e *explainer) plan(s *selection) []attempt {
	lenient := *s
	lenient.how.rehearsed = true
	plan, err := lenient.plan(e.ctx, e.program.generation, e.object, e.views)
	if err != nil {
		return nil // a lenient plan has no error
	}
	attempts := make([]attempt, len(plan.Rules))
	for i, planned := range plan.Rules {
		attempts[i] = attempt{PlannedRule: planned}
		if planned.Skipped == cannotCompute {
			attempts[i].failed = e.why(planned.rule, lenient.how)
		}
	}
	return attempts
}

// why computes a rule once more for the reason why it cannot be.
func (e *explainer) why(r *rule, how how) error {
	how.exists = e.object.Old != nil
	if r.family != nil {
		_, err := planFamily(e.ctx, r, e.views.of(r.scope), how)
		return err
	}
	planned := PlannedRule{rule: r}
	return planned.decide(e.ctx, e.views.of(r.scope), how, make([]Step, len(r.writes)))
}
