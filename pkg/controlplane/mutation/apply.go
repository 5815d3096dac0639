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
// none where all are reported.
func (p Plan) apply(o *target.Object, observe Observer) ([]Applied, error) {
	var (
		applied    = make([]Applied, len(p.Rules))
		references []operation.Reference
		lost       bool
	)
	for i, planned := range p.Rules {
		applied[i] = Applied{
			Profile: planned.rule.profile, Rule: planned.rule.name, Item: planned.rule.item, Position: planned.rule.position,
			Outcome: Skipped, Reason: planned.Skipped,
		}
		if planned.Skipped != "" {
			continue
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

func (p PlannedRule) apply(o *target.Object, applied *Applied, observe Observer) error {
	inTexts := p.inTexts()
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	before, overridden := o.Edits(), 0
	if p.rule.target.Component == "kubelet" {
		// The contract requires a single command line, whatever the rule edits.
		if _, err := o.CommandLine(p.rule.target.Container); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	for _, step := range p.Steps {
		if step.Overridden != "" {
			overridden++
			applied.Reason = step.Overridden
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
	switch {
	case overridden == len(p.Steps):
		applied.Outcome = Overridden
	case o.Edits() != before:
		applied.Outcome = Changed
	default:
		applied.Outcome = Unchanged
	}
	return nil
}

// inTexts says whether the rule edits nothing but texts that the object reads once and can write back when all rules are done.
func (p PlannedRule) inTexts() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return !operation.InText(s.Place.Kind) })
}

// references are the steps of the rule that may have added or dropped the use of a Secret or ConfigMap.
func (p PlannedRule) references(o *target.Object) []operation.Reference {
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
