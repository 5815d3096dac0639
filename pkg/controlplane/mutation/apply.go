// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Exemption returns a function that reports whether an applied rule gave a reason to change a flag of a target's own
// container, or, for an empty flag, its inputs.
func (p Plan) Exemption() contract.Exemption {
	return func(flag string) bool {
		for _, planned := range p.Rules {
			if !planned.Rule.Override || planned.Skipped != "" {
				continue
			}
			for _, step := range planned.Steps {
				own := step.Place.Container == planned.Rule.Target.Container && FlagOf(step.Place) == flag
				if flag == "" || own || definesKubelet(step.Place) {
					return true
				}
			}
		}
		return false
	}
}

// Apply makes the edits of the plan and returns the outcome of each rule. It fails with a *Failure, which names the rule
// that caused it, if one did. Results in the cache, which may be nil, are reused; an observer still sees each step.
func (p Plan) Apply(o *target.Object, observe Observer, cache *KubeletCache) ([]Applied, error) {
	var (
		applied    = make([]Applied, len(p.Rules))
		references []operation.Place // those written that may refer to Secrets and ConfigMaps
		compare    bool              // whether a rule may have removed a reference, or wrote any field
	)
	for i := range p.Rules {
		applied[i] = p.Rules[i].unapplied()
	}
	cached := 0 // the rules before it are applied
	for i := range p.Rules {
		planned := &p.Rules[i]
		if planned.Skipped != "" || i < cached {
			continue
		}
		if length := cacheableRules(p.Rules[i:]); length > 0 && cache != nil && observe == nil {
			cached = i + length
			if err := cache.apply(p.Rules[i:cached], o, applied[i:cached]); err != nil {
				return nil, err
			}
			continue
		}
		removals := o.Document.Removals()
		if err := planned.apply(o, &applied[i], observe); err != nil {
			return nil, err
		}
		places, all := planned.references(o.Document.Removals() > removals, applied[i].Outcome == Changed)
		references, compare = append(references, places...), compare || all
	}
	if err := o.Flush(); err != nil {
		return nil, applyFailure("the units and files", err)
	}
	if len(references) > 0 && o.Form.Has(target.PodTemplate) {
		if err := operation.WriteReferences(o, references, compare); err != nil {
			return nil, applyFailure("the reference annotations", err)
		}
		if observe != nil {
			observe(Applied{Rule: "reference annotations", Outcome: Changed}, Step{}, o)
		}
	}
	return applied, nil
}

// references returns the places of the rule that may refer to Secrets and ConfigMaps. It also reports whether all
// references of the pod must be compared, because the rule removed a value or changed any field.
func (p *PlannedRule) references(removed, changed bool) (places []operation.Place, all bool) {
	for _, step := range p.Steps {
		if step.Overridden == "" && operation.MayReference(step.Place.Kind) {
			places = append(places, step.Place)
			all = all || removed || changed && step.Place.Kind == operation.Field
		}
	}
	return places, all
}

// unapplied returns the outcome of the rule before it is applied.
func (p *PlannedRule) unapplied() Applied {
	applied := Applied{Profile: p.Rule.Profile, Rule: p.Rule.Name, Item: p.Rule.Item, Position: p.Rule.Position, Outcome: Skipped, Reason: p.Skipped}
	if p.Failed != nil {
		applied.Outcome, applied.Would, applied.Reason = Observed, Denied, wouldDeny+string(asFailure(p.Failed).Reason)
	}
	return applied
}

// apply makes the edits of the rule and sets its outcome. It fails with a *Failure that names the rule.
func (p *PlannedRule) apply(o *target.Object, applied *Applied, observe Observer) error {
	changed, err := p.edit(o, applied, observe)
	if err != nil {
		failure := applyFailure("rule "+p.Rule.String(), err)
		failure.Rule = p.Rule.Origin()
		return failure
	}
	p.report(applied, changed)
	return nil
}

// edit makes the edits of the rule, and reports whether they changed the object.
func (p *PlannedRule) edit(o *target.Object, applied *Applied, observe Observer) (changed bool, err error) {
	inTexts := p.inTexts()
	if !inTexts {
		if err := o.Flush(); err != nil {
			return false, err
		}
	}
	before := o.Edits()
	if p.Rule.Target.Component == "kubelet" {
		// The contract requires a single command line, even if the rule edits other fields.
		if _, err := o.CommandLine(p.Rule.Target.Container); err != nil {
			return false, err
		}
	}
	for _, step := range p.Steps {
		if step.Overridden != "" {
			continue
		}
		if err := step.apply(o); err != nil {
			return false, err
		}
		if observe == nil {
			continue
		}
		if err := o.Flush(); err != nil {
			return false, err
		}
		observe(*applied, step, o)
	}
	if !inTexts {
		if err := o.Flush(); err != nil {
			return false, err
		}
	}
	return o.Edits() != before, nil
}

// report sets the outcome of the rule after it was applied.
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

// inTexts reports whether the rule edits only embedded texts. The object reads these once and can write them back after
// all rules.
func (p *PlannedRule) inTexts() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return !operation.InText(s.Place.Kind) })
}

// writeRecord updates the record of an object after its rules were applied, and restores the values that no rule writes
// now.
func writeRecord(s *Selection, o *target.Object, plan Plan) error {
	if s.record == "" {
		return nil
	}
	recorder, ok := annotation.NewRecorder(o, s.record, s.lasts)
	if !ok {
		return nil
	}
	for _, planned := range plan.Rules {
		if planned.Skipped != "" {
			// A rule with a false condition still exists.
			if planned.Rule.ForEach != nil || planned.Rule.whole != nil {
				recorder.HoldAll()
			}
			for i := range planned.Rule.Writes {
				recorder.Hold(planned.Rule.Writes[i].Traces(nil)...)
			}
			continue
		}
		for i := range planned.Steps {
			if step := &planned.Steps[i]; step.Overridden == "" {
				recorder.Note(step.Write, &step.Value, step.Kept)
			}
		}
	}
	return recorder.Finish()
}
