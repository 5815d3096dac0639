// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/textcache"
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

// Apply makes the edits of the plan and reports the outcome of each rule. On an error, the last reported rule is the
// cause, unless all rules were reported. Results in the cache, which may be nil, are reused; an observer still sees
// each step.
func (p Plan) Apply(o *target.Object, observe Observer, cache *textcache.Cache) ([]Applied, error) {
	var (
		applied    = make([]Applied, len(p.Rules))
		references []operation.Place // those written that may refer to Secrets and ConfigMaps
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
		if cache != nil && observe == nil {
			if length := run(p.Rules[i:]); length > 0 {
				done, err := applyCached(cache, p.Rules[i:i+length], o, applied[i:i+length])
				if err != nil {
					return applied[:i+done], err
				}
				cached = i + length
				continue
			}
		}
		if err := planned.apply(o, &applied[i], observe); err != nil {
			return applied[:i+1], err
		}
		for _, step := range planned.Steps {
			if step.Overridden == "" && operation.MayReference(step.Place.Kind) {
				references = append(references, step.Place)
			}
		}
	}
	if err := o.Flush(); err != nil {
		return nil, applyFailure("the units and files", err)
	}
	if len(references) > 0 && o.Form.Has(target.PodTemplate) {
		if err := operation.WriteReferences(o, references); err != nil {
			return nil, applyFailure("the reference annotations", err)
		}
		if observe != nil {
			observe(Applied{Rule: "reference annotations", Outcome: Changed}, Step{}, o)
		}
	}
	return applied, nil
}

// unapplied returns the outcome of the rule before it is applied.
func (p *PlannedRule) unapplied() Applied {
	return Applied{Profile: p.Rule.Profile, Rule: p.Rule.Name, Item: p.Rule.Item, Position: p.Rule.Position, Outcome: Skipped, Reason: p.Skipped}
}

func (p *PlannedRule) apply(o *target.Object, applied *Applied, observe Observer) error {
	inTexts := p.inTexts()
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.Rule.String(), err)
		}
	}
	before := o.Edits()
	if p.Rule.Target.Component == "kubelet" {
		// The contract requires a single command line, even if the rule edits other fields.
		if _, err := o.CommandLine(p.Rule.Target.Container); err != nil {
			return applyFailure("rule "+p.Rule.String(), err)
		}
	}
	for _, step := range p.Steps {
		if step.Overridden != "" {
			continue
		}
		if err := step.apply(o); err != nil {
			return applyFailure("rule "+p.Rule.String(), err)
		}
		if observe == nil {
			continue
		}
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.Rule.String(), err)
		}
		observe(*applied, step, o)
	}
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.Rule.String(), err)
		}
	}
	p.report(applied, o.Edits() != before)
	return nil
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

// run returns the number of leading rules that are skipped or write only the kubelet's two texts from values. It
// returns 0 if none of them writes.
func run(rules []PlannedRule) int {
	end := 0
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if !rules[i].cacheable() {
			break
		}
		end = i + 1
	}
	return end
}

// cacheable reports whether the effect of the rule depends only on its values and on the kubelet's two texts.
func (p *PlannedRule) cacheable() bool {
	return p.Rule.inKubelet && !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kept })
}

// applyCached applies a run of rules, if possible with the result in the cache. With an error, it returns the number of
// rules that were applied, including the one that caused it.
func applyCached(cache *textcache.Cache, rules []PlannedRule, o *target.Object, applied []Applied) (int, error) {
	if err := o.Flush(); err != nil {
		return 1, applyFailure("the units and files", err)
	}
	texts := o.KubeletTexts(inConfiguration(rules))
	key := textcache.NewKey()
	defer key.Release()
	fits := len(texts.Unit)+len(texts.Configuration) <= textcache.EntryBytes
	if fits {
		writeKey(key, rules, texts)
	}
	if known := cache.Get(*key); fits && known != nil {
		if err := o.EditKubelet(known.Edit); err != nil {
			return 1, applyFailure("the units and files", err)
		}
		reportCached(rules, applied, known.Changed)
		return len(rules), nil
	}
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if err := rules[i].apply(o, &applied[i], nil); err != nil {
			return i + 1, err
		}
	}
	if !fits || !cache.Recurs(*key) {
		return len(rules), nil
	}
	if err := o.Flush(); err != nil {
		return len(rules), applyFailure("the units and files", err)
	}
	if edit, ok := o.KubeletEdit(texts); ok {
		cache.Put(*key, &textcache.Effect{Edit: edit, Changed: changes(rules, applied)})
	}
	return len(rules), nil
}

// reportCached sets the outcomes of the rules; changed holds one value for each rule that is not skipped.
func reportCached(rules []PlannedRule, applied []Applied, changed []bool) {
	for i := range rules {
		if rules[i].Skipped == "" {
			rules[i].report(&applied[i], changed[0])
			changed = changed[1:]
		}
	}
}

// changes reports for each rule that is not skipped whether it changed the texts.
func changes(rules []PlannedRule, applied []Applied) []bool {
	var changed []bool
	for i := range rules {
		if rules[i].Skipped == "" {
			changed = append(changed, applied[i].Outcome == Changed)
		}
	}
	return changed
}

// writeKey adds everything that determines the effect of the rules on the texts.
func writeKey(key *textcache.Key, rules []PlannedRule, texts target.KubeletTexts) {
	key.Texts(texts)
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		key.Rule(rules[i].Rule.number, len(rules[i].Steps))
		for j := range rules[i].Steps {
			step := &rules[i].Steps[j]
			key.Step(step.Overridden != "", step.Value)
		}
	}
}

// cacheFor returns the cache of the program if the selection may use it, or nil.
func cacheFor(s *Selection, p *Program) *textcache.Cache {
	if s.sensitive {
		return nil
	}
	return p.cache
}

// inConfiguration reports whether one of the rules edits the configuration file. Every rule for the kubelet reads the
// unit.
func inConfiguration(rules []PlannedRule) bool {
	for i := range rules {
		for j := range rules[i].Steps {
			step := &rules[i].Steps[j]
			if step.Overridden == "" && (step.Place.Kind == operation.KubeletField || step.Place.Kind == operation.FeatureGate) {
				return true
			}
		}
	}
	return false
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
