// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
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
		secret = whole.scope.secretNames(whole.target, whole.family.items.references())
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

// survey reads what the rules of the selection need as far as it is there: nothing that is missing keeps the rest from being read.
func (s *selection) survey(ctx context.Context, g contract.Generation, r Request, o *target.Object, source facts.Source) (views, []ExplainedLookup) {
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
