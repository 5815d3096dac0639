// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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
		return &Explanation{Elsewhere: p.elsewhere(r, nil), After: r.Object}, nil
	}
	explained := &Explanation{Target: selected.target.Subject(), Elsewhere: p.elsewhere(r, selected), After: r.Object}
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
	views, lookups := selected.survey(ctx, p.generation, r, object, source)
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

// elsewhere counts the rules of a set and provider that are not among those of a selection.
func (p *Program) elsewhere(r Request, selected *selection) int {
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
