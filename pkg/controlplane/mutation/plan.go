// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// leave clears the room and returns it. The plan's data in it must not be used afterwards.
func (r *planRoom) leave() {
	clear(r.rules[:cap(r.rules)])
	clear(r.steps[:cap(r.steps)])
	planRooms.Put(r)
}

// denies returns the failure of a denial with a true condition, or nil for any other rule.
func (p *PlannedRule) denies() error {
	if len(p.Steps) != 1 || p.Steps[0].Place.Kind != operation.Denied {
		return nil
	}
	failure := fail(DeniedByRule, errors.New(p.Steps[0].Value.Text()), "rule %s", p.rule)
	failure.By = &Applied{Profile: p.rule.profile, Rule: p.rule.name, Position: p.rule.position, Outcome: Denied}
	return failure
}

// String writes the step as a person would read it.
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
	if err := s.write.Apply(other, operation.Resolved{Absent: true}); err != nil {
		return nil, fmt.Errorf("taking away what a step wrote: %w", err)
	}
	if err := other.Flush(); err != nil {
		return nil, fmt.Errorf("taking away what a step wrote: %w", err)
	}
	return copied.Bytes(), copied.Err()
}

// agrees reports whether two steps write the same value to a place.
func (s Step) agrees(other *Step) bool { return s.Kept == other.Kept && s.Value.Equal(other.Value) }

// String writes the plan, one rule and its steps after the other.
func (p Plan) String() string {
	var out strings.Builder
	for _, planned := range p.Rules {
		fmt.Fprintf(&out, "%s", planned.rule)
		if planned.Skipped != "" {
			fmt.Fprintf(&out, ": skipped, %s", planned.Skipped)
		}
		out.WriteByte('\n')
		for _, step := range planned.Steps {
			fmt.Fprintf(&out, "  %s\n", step)
		}
	}
	return out.String()
}

// cannotCompute is why a rehearsal leaves out a rule.
const cannotCompute = "it cannot be computed"

// planRoom is the memory that a plan takes; the next one uses it again.
type planRoom struct {
	rules []PlannedRule
	steps []Step
}

var planRooms = sync.Pool{New: func() any { return new(planRoom) }}

// plan evaluates the conditions and values, and finds overridden writes.
func (s *selection) plan(ctx context.Context, g contract.Generation, o *target.Object, views views) (Plan, error) {
	return s.planIn(ctx, new(planRoom), g, o, views)
}

// planIn makes the plan in a room.
func (s *selection) planIn(ctx context.Context, room *planRoom, g contract.Generation, o *target.Object, views views) (Plan, error) {
	if cap(room.rules) < len(s.rules) {
		room.rules = make([]PlannedRule, 0, len(s.rules))
	}
	plan := Plan{Rules: room.rules[:0]}
	steps := room.steps // made by the dozen, as many a rule does not apply
	clause, locked := contract.ServiceLocked(o, g)
	how := s.how
	how.exists = o.Old != nil
	purpose := o.Purpose()
	for _, r := range s.rules {
		skipped := r.missesIn(o.Form, purpose, o)
		if locked {
			skipped = clause.String()
		}
		if skipped == "" {
			skipped = views.missing(r)
		}
		if skipped != "" {
			plan.Rules = append(plan.Rules, PlannedRule{rule: r, Skipped: skipped})
			continue
		}
		variables := views.of(r.scope)
		if r.family != nil {
			members, err := planFamily(ctx, r, variables, how)
			if err != nil && !how.rehearsed {
				return Plan{}, err
			}
			if err != nil {
				members = []PlannedRule{{rule: r, Skipped: cannotCompute}}
			}
			plan.Rules = append(plan.Rules, members...)
			continue
		}
		planned := PlannedRule{rule: r}
		if len(steps) < len(r.writes) {
			const dozen = 12
			steps = make([]Step, max(dozen, len(r.writes)))
			if len(steps) > len(room.steps) {
				room.steps = steps
			}
		}
		if err := planned.decide(ctx, variables, how, steps[:len(r.writes):len(r.writes)]); err != nil {
			if !how.rehearsed {
				return Plan{}, err
			}
			planned = PlannedRule{rule: r, Skipped: cannotCompute}
		}
		steps = steps[len(planned.Steps):]
		plan.Rules = append(plan.Rules, planned)
	}
	plan.override(s.contests)
	return plan, nil
}

// decide evaluates the condition of the rule and, when it holds, its values.
func (p *PlannedRule) decide(ctx context.Context, variables operation.Variables, how how, steps []Step) error {
	if holds, err := p.holds(ctx, variables, how); err != nil || !holds {
		return err
	}
	if err := p.compute(ctx, variables, how, steps); err != nil {
		return err
	}
	return p.denies()
}

// override marks the steps that later steps overwrite with another value.
func (p Plan) override(c contests) {
	if len(c.places) == 0 && !c.any {
		return
	}
	type last struct {
		rule *rule
		step *Step
	}
	latest := map[operation.Place]last{}
	for i := len(p.Rules) - 1; i >= 0; i-- {
		planned := &p.Rules[i]
		for j := range planned.Steps {
			step := &planned.Steps[j]
			if !c.any && !c.places[step.Place] || step.write.Adds {
				continue
			}
			if later, ok := latest[step.Place]; !ok {
				latest[step.Place] = last{planned.rule, step}
			} else if !later.step.agrees(step) {
				step.Overridden = later.rule.String()
			}
		}
	}
}
