// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"errors"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Observer is told of each step after it was applied, with the object as it then is.
type Observer func(rule Applied, step Step, object *target.Object)

// apply makes the edits of the plan and reports what became of each rule. With an error, the last one reported is to blame, or
// none where all are reported. What the memory knows, which may be nil, is not computed again; an observer sees each step in any case.
func (p Plan) apply(o *target.Object, observe Observer, known *memory) ([]Applied, error) {
	var (
		applied    = make([]Applied, len(p.Rules))
		references []operation.Reference
		lost       bool
	)
	for i := range p.Rules {
		applied[i] = p.Rules[i].unapplied()
	}
	remembered := 0 // the rules before it are applied
	for i := range p.Rules {
		planned := &p.Rules[i]
		if planned.Skipped != "" || i < remembered {
			continue
		}
		if known != nil && observe == nil {
			if length := run(p.Rules[i:]); length > 0 {
				done, err := known.apply(p.Rules[i:i+length], o, applied[i:i+length])
				if err != nil {
					return applied[:i+done], err
				}
				remembered = i + length
				continue
			}
		}
		losses := o.Document.Losses()
		if err := planned.apply(o, &applied[i], observe); err != nil {
			return applied[:i+1], err
		}
		more := planned.references(o)
		references = append(references, more...)
		lost = lost || len(more) > 0 && o.Document.Losses() > losses
	}
	if err := o.Flush(); err != nil {
		return nil, applyFailure("the units and files", err)
	}
	if len(references) > 0 && o.Form.Has(target.PodTemplate) {
		if err := operation.WriteReferences(o, references, lost); err != nil {
			return nil, applyFailure("the reference annotations", err)
		}
		if observe != nil {
			observe(Applied{Rule: "reference annotations", Outcome: Changed}, Step{}, o)
		}
	}
	return applied, nil
}

// unapplied is what is said of the rule before it was applied.
func (p *PlannedRule) unapplied() Applied {
	return Applied{Profile: p.rule.profile, Rule: p.rule.name, Item: p.rule.item, Position: p.rule.position, Outcome: Skipped, Reason: p.Skipped}
}

func (p *PlannedRule) apply(o *target.Object, applied *Applied, observe Observer) error {
	inTexts := p.inTexts()
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	before := o.Edits()
	if p.rule.target.Component == "kubelet" {
		// The contract requires a single command line, whatever the rule edits.
		if _, err := o.CommandLine(p.rule.target.Container); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	for _, step := range p.Steps {
		if step.Overridden != "" {
			continue
		}
		if err := step.apply(o); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
		if observe == nil {
			continue
		}
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
		observe(*applied, step, o)
	}
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	p.report(applied, o.Edits() != before)
	return nil
}

// report says what became of the rule once it was applied.
func (p *PlannedRule) report(applied *Applied, changed bool) {
	overridden := 0
	for i := range p.Steps {
		if by := p.Steps[i].Overridden; by != "" {
			overridden++
			applied.Reason = by
		}
	}
	switch {
	case overridden == len(p.Steps):
		applied.Outcome = Overridden
	case changed:
		applied.Outcome = Changed
	default:
		applied.Outcome = Unchanged
	}
}

// inTexts says whether the rule edits nothing but texts that the object reads once and can write back when all rules are done.
func (p *PlannedRule) inTexts() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return !operation.InText(s.Place.Kind) })
}

// references are the steps of the rule that may have added or dropped the use of a Secret or ConfigMap.
func (p *PlannedRule) references(o *target.Object) []operation.Reference {
	var references []operation.Reference
	for _, step := range p.Steps {
		if step.Overridden != "" || !operation.MayReference(step.Place.Kind) {
			continue
		}
		value := step.Value
		if step.Kept {
			value = operation.Standing(o, step.Place)
		}
		references = append(references, operation.Reference{Kind: step.Place.Kind, Value: value})
	}
	return references
}

func applyFailure(what string, err error) *Failure {
	switch {
	case errors.Is(err, target.ErrContainerMissing):
		return fail(ContainerMissing, err, "%s", what)
	case errors.Is(err, document.ErrDuplicateKey), errors.Is(err, document.ErrTooLarge), errors.Is(err, document.ErrTooDeep):
		return fail(ObjectUnreadable, err, "%s", what)
	case errors.Is(err, target.ErrNested), errors.Is(err, document.ErrKind):
		return fail(NestedUnreadable, err, "%s", what)
	case errors.Is(err, operation.ErrValue):
		return fail(ExpressionFailed, err, "%s", what)
	case errors.Is(err, target.ErrNodePartMissing):
		return fail(NodePartMissing, err, "%s", what)
	case errors.Is(err, contract.ErrBroken):
		return fail(ContractBroken, err, "%s", what)
	default:
		return fail(Internal, err, "%s", what)
	}
}

// exemption says which flags of a target's own container, or (for an empty flag) whether its inputs, some applied rule gave a
// reason for.
func (p Plan) exemption() contract.Exemption {
	return func(flag string) bool {
		for _, planned := range p.Rules {
			if !planned.rule.override || planned.Skipped != "" {
				continue
			}
			for _, step := range planned.Steps {
				if flag == "" || step.Place.Container == planned.rule.target.Container && flagOf(step.Place) == flag {
					return true
				}
			}
		}
		return false
	}
}
