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
	// seen counts the members of families by what messages call them, as two may be called the same.
	seen map[string]int
}

// attempt is a rule as it was planned, with why it could not be.
type attempt struct {
	PlannedRule
	failed error
}

// attempts plan each rule for itself, so that one that cannot be computed does not hide the others. Rules that are only observed
// are planned among all others, those that are enforced among themselves.
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

// concerns says whether anything had to be decided for the rule: the object has what it is for, and the contract lets it be changed.
func (e *explainer) concerns(r *rule) bool {
	_, locked := contract.ServiceLocked(e.object, e.program.generation)
	return !locked && r.misses(e.object) == ""
}

// missing says whether the object is denied because a lookup found nothing for a rule that concerns it, and which; nil when all found
// something.
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

// terms explains the condition of a rule and what its items come from.
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
		// What the whole came to is seen in what became of the rule.
		t.Value, t.From = describeTerm(term), nil
	}
	into.When = &t
}

// itemOf is what the expressions of a member of a family see.
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

// surveyRules reads what the rules of the selection need as far as it is there: nothing that is missing keeps the rest from being read.
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

// survey makes the named lookups, and says of each what came of it.
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

// Explanation is what each rule for an object does with it, and why. Its texts and terms hold no value of a Secret; the states of
// the object hold what the object holds.
type Explanation struct {
	// Target is the name of the target; empty when no rule is for the object.
	Target string
	// Rules are those for the object in the order in which they are applied; those with forEach once for each item.
	Rules []ExplainedRule
	// Elsewhere counts the rules of the same set and provider for other objects.
	Elsewhere int
	// Lookups are those that the rules for the object need.
	Lookups []ExplainedLookup
	// Denied is why the object is not admitted; nil when it is. Outcomes are then those of what was decided before.
	Denied *Failure
	// Deleting says that the object is being deleted, so that no rule is applied.
	Deleting bool
	// After is the object with what was applied to it, as JSON; as it came where it was denied.
	After []byte
}

// ExplainedRule is one rule for the object.
type ExplainedRule struct {
	// Applied is what became of the rule; the outcome is empty where the object was denied before that was known.
	Applied
	// Set is where the rule stands; Path is its field in the profile, and Target and Operation are what it is.
	Set                     target.Set
	Path, Target, Operation string
	// When is the condition; nil for a rule without, and for one that was skipped before the condition was asked.
	When *Term
	// ForEach are the expressions of the list or mapping that a rule with forEach is for.
	ForEach []Term
	// Writes are what the rule writes when it applies; with forEach and without an item, samples of that.
	Writes []ExplainedWrite
	// Steps are what it wrote; none where it was skipped.
	Steps []ExplainedStep
	// Failed is why the rule could not be computed or applied; nil when it could.
	Failed error
}

// ExplainedWrite is a place that a rule writes.
type ExplainedWrite struct {
	Place operation.Place
	// Flag is the flag that the place is, or is part of, without dashes; empty for others.
	Flag string
	// At is where the value stands in the profile.
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
	// Profile and Name are those of the profile and the lookup; Kind and Object are the kind and, as it is written, the name of what it reads.
	Profile, Name, Kind, Object string
	// Failed is why nothing was found; nil when something was, or when nothing had to be.
	Failed error
	// Skips says that rules which need it are left out then, rather than the object denied.
	Skips bool
}

// Explain takes an object all the way, as Admit does, and says of each rule for it what became of it and why. It does not fail where
// Admit does: what cannot be decided is part of the explanation. The request must have the Object; its documents are not used.
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

// outcomes takes over what became of the rules, which are in the same order unless nobody knows which of those that are only observed
// would deny the object.
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

// Term is a part of an expression, what it came to, and why. It holds no value of a Secret.
type Term struct {
	// Text is the part as CEL writes it, in one line; Position is where it begins.
	Text     string
	Position source.Position
	// Value is what it came to, for people; empty where From, Failed or Skipped say why there is none.
	Value string
	// From are the Secrets of which the value is made, so that it is not shown.
	From []string
	// Failed is why it came to nothing.
	Failed string
	// Skipped says that it was not evaluated, as another part had decided already.
	Skipped bool
	// Terms are the parts that had a say in it; below a variable of the profile those of its expression.
	Terms []Term
	// Each says, of a macro such as exists, what its condition came to for each Item up to the one that decided; More counts the items
	// that are left out.
	Each []Term
	More int
	// Item is what the item is called that a term in Each is about.
	Item string
}

// term makes a term fit to be shown; secret are the Secrets of which the items of the rule are made.
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

// failedBecause is the message of an evaluation that failed: its position is that of the term, or in it.
func failedBecause(err error) string {
	var failed *expression.EvaluationError
	if errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

func describeTerm(t expression.Term) string { return expression.Describe(t.Value) }

// secretNamesIn are the Secrets of which a value with these references is or may be made; nil: none.
func secretNamesIn(s *scope, t *target.Target, references []string) []string {
	return s.namesOf(t, references, tellsSecretOf(s, t, references))
}

// tellsSecretOf says whether a value with these references is or may be made of what a Secret holds that is admitted itself.
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
