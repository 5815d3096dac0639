// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// notComputed is the reason for omitting a rule with PlanMode.OmitFailing.
const notComputed = "it cannot be computed"

// Observer is called after each applied step, with the changed object.
type Observer func(rule Applied, step Step, object *target.Object)

// Plan is the list of changes to an object: every rule of its target with its condition and values evaluated. It is
// plain data, and its steps can be printed.
type Plan struct {
	Rules []PlannedRule
}

// PlannedRule is a rule of the plan.
type PlannedRule struct {
	Rule *Rule
	// Skipped is the reason for not applying the rule, or "".
	Skipped string
	Steps   []Step
	// Failed is why the rule was omitted with PlanMode.OmitFailing, or nil. Read has the references of the expression
	// that failed.
	Failed error
	Read   []string
}

// Step is one write of a rule.
type Step struct {
	Place operation.Place
	Value operation.Resolved
	// Kept is true if the place keeps the value of the old object. Then there is no new value.
	Kept bool
	// Overridden names the later rule that writes another value to the place, or is "". An overridden step is not
	// applied.
	Overridden string

	Write *operation.Write
}

// Lasts reports whether the value that the step writes remains after its rule is removed. Records contain such values,
// because Gardener does not write them again.
func (s Step) Lasts() bool { return s.Write != nil && len(s.Write.Traces(nil)) > 0 }

// apply writes the place.
func (s Step) apply(o *target.Object) error {
	if s.Kept {
		return s.Write.Keep(o)
	}
	return s.Write.Apply(o, s.Value)
}

// denies returns the failure of a denial with a true condition, or nil for any other rule.
func (p *PlannedRule) denies() error {
	if len(p.Steps) != 1 || p.Steps[0].Place.Kind != operation.Denied {
		return nil
	}
	failure := fail(DeniedByRule, errors.New(p.Steps[0].Value.Text()), "rule %s", p.Rule)
	failure.By = &Applied{Profile: p.Rule.Profile, Rule: p.Rule.Name, Position: p.Rule.Position, Outcome: Denied}
	return failure
}

// String formats the step for people.
func (s Step) String() string {
	text := fmt.Sprintf("%s: %s", s.Place, s.Value)
	if s.Kept {
		text = fmt.Sprintf("%s: kept", s.Place)
	}
	if s.Overridden != "" {
		text += ", overridden by " + s.Overridden
	}
	return text
}

// Without returns the object, as JSON, without the value that the step wrote. This shows the written place even if it
// had a value before. The object itself stays unchanged. It fails if the operation cannot remove its value.
func (s Step) Without(o *target.Object) ([]byte, error) {
	copied, err := document.Parse(bytes.Clone(o.Document.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("reading the object once more: %w", err)
	}
	other := &target.Object{Target: o.Target, Form: o.Form, Document: copied, Old: o.Old}
	if err := s.Write.Apply(other, operation.Resolved{Absent: true}); err != nil {
		return nil, fmt.Errorf("removing the result of a step: %w", err)
	}
	if err := other.Flush(); err != nil {
		return nil, fmt.Errorf("removing the result of a step: %w", err)
	}
	return copied.Bytes(), copied.Err()
}

// agrees reports whether two steps write the same value to a place.
func (s Step) agrees(other *Step) bool { return s.Kept == other.Kept && s.Value.Equal(other.Value) }

// Plan evaluates the conditions and values, and finds overridden writes. It fails if one of them cannot be evaluated,
// or a rule denies the object.
func (s *Selection) Plan(ctx context.Context, g contract.Generation, o *target.Object, views Views) (Plan, error) {
	plan := Plan{Rules: make([]PlannedRule, 0, len(s.Rules))}
	mode := s.Mode
	mode.Exists = o.Old != nil
	skips := SkipsFor(g, o)
	for _, r := range s.Rules {
		if skipped := skips.Reason(r); skipped != "" {
			plan.Rules = append(plan.Rules, PlannedRule{Rule: r, Skipped: skipped})
			continue
		}
		if err := plan.add(ctx, r, views.Of(r.Scope), mode); err != nil && !mode.OmitFailing {
			return Plan{}, err
		}
	}
	plan.override(s.conflicts)
	return plan, nil
}

// add plans the rule, with forEach once for each item. It fails if an expression cannot be evaluated, or if the rule
// denies the object; the plan then describes the failure.
func (p *Plan) add(ctx context.Context, r *Rule, variables operation.Variables, mode PlanMode) error {
	planned := PlannedRule{Rule: r}
	if r.ForEach != nil {
		items, err := planForEach(ctx, r, variables, mode)
		if err != nil {
			items = []PlannedRule{{Rule: r, Skipped: notComputed, Failed: err, Read: r.References()}}
		}
		p.Rules = append(p.Rules, items...)
		return err
	}
	holds, err := planned.holds(ctx, variables, mode)
	if err == nil && holds {
		if err = planned.compute(ctx, variables, mode); err == nil {
			err = planned.denies()
		}
	}
	if err != nil {
		planned = PlannedRule{Rule: r, Skipped: notComputed, Failed: err, Read: planned.Read}
	}
	p.Rules = append(p.Rules, planned)
	return err
}

// override marks the steps that later steps overwrite with another value.
func (p Plan) override(c conflicts) {
	if len(c.places) == 0 && !c.any {
		return
	}
	type last struct {
		rule *Rule
		step *Step
	}
	latest := map[operation.Place]last{}
	for i := len(p.Rules) - 1; i >= 0; i-- {
		planned := &p.Rules[i]
		for j := range planned.Steps {
			step := &planned.Steps[j]
			if !c.any && !c.places[step.Place] || step.Write.Adds {
				continue
			}
			if later, ok := latest[step.Place]; !ok {
				latest[step.Place] = last{planned.Rule, step}
			} else if !later.step.agrees(step) {
				step.Overridden = later.rule.String()
			}
		}
	}
}

// holds evaluates the condition. It fails if the condition cannot be evaluated.
func (p *PlannedRule) holds(ctx context.Context, variables operation.Variables, mode PlanMode) (bool, error) {
	if p.Rule.When == nil || mode.Forced {
		return true, nil
	}
	holds, err := p.Rule.When.Bool(ctx, variables)
	if err != nil {
		p.Read = p.Rule.When.References()
		return false, evaluationFailure(p.Rule, err)
	}
	if !holds {
		p.Skipped = ConditionFalse
	}
	return holds, nil
}

// compute creates a step for each write of the rule.
func (p *PlannedRule) compute(ctx context.Context, variables operation.Variables, mode PlanMode) error {
	p.Steps = make([]Step, len(p.Rule.Writes))
	for i := range p.Rule.Writes {
		write := &p.Rule.Writes[i]
		if mode.Exists && p.Rule.Keep {
			p.Steps[i] = Step{Place: write.Place, Kept: true, Write: write}
			continue
		}
		value, err := write.Resolve(ctx, variables)
		if err != nil {
			p.Read = write.Value.References()
			return evaluationFailure(p.Rule, err)
		}
		p.Steps[i] = Step{Place: write.Place, Value: value, Write: write}
	}
	return nil
}
