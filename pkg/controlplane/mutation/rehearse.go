// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// rehearse applies the rules to sample control planes: with all conditions taken for true, and as they are. What comes out is
// admitted a second time and must not change, and must be within the contract. A rule that cannot be computed on a sample is
// left out. Findings of which a single rule is the cause are returned; others, and objects that would be denied, are warnings: a real
// control plane may have what the sample lacks. Rules that break the contract only together are refused where the profiles are
// sound so far.
func (p *Program) rehearse(sound bool) (findings, warnings source.Findings) {
	r := rehearsal{program: p, sound: sound, done: map[string]bool{}, seen: map[string]bool{}}
	for i := range static.Planes() {
		plane := &static.Planes()[i]
		if plane.Legacy != (p.generation == contract.Labelled) {
			continue
		}
		stage := stageOf(plane)
		for n, raw := range plane.Objects {
			r.object(stage, fmt.Sprintf("%s/%d", plane.Name, n), raw)
		}
	}
	return r.findings, r.warnings
}

// rehearsal is all rehearsals of a program.
type rehearsal struct {
	program *Program
	// done are the objects and rules that have been tried: profiles have the same for each of their providers.
	done map[string]bool
	// seen are the findings and warnings so far.
	seen map[string]bool
	// sound says that nothing else is wrong with the profiles.
	sound              bool
	findings, warnings source.Findings
}

func (r *rehearsal) object(stage *stage, id string, raw []byte) {
	parsed, err := document.Parse(raw)
	if err != nil {
		return
	}
	request := requestFor(parsed.Root(), stage.plane.Garden)
	parsed.Release()
	for _, key := range slices.SortedFunc(maps.Keys(r.program.scopes), compareScopes) {
		if key.garden != stage.plane.Garden {
			continue
		}
		request.Set, request.Provider, request.Garden = key.set, key.provider, key.garden
		selected, failure := r.program.selectRules(request)
		if selected == nil || failure != nil || len(selected.rules) == 0 {
			continue
		}
		tried := id
		for _, rule := range selected.rules {
			tried += fmt.Sprintf(" %p", rule)
		}
		if !r.done[tried] {
			r.done[tried] = true
			request.Object = raw
			r.scenes(stage, selected, request)
		}
	}
}

// scenes are an object with its conditions taken for true, and as they are; the latter also where optional lookups find nothing.
func (r *rehearsal) scenes(stage *stage, selected *selection, request Request) {
	forced := scene{r.program, stage, selected, request, how{rehearsed: true, forced: true}}
	evaluated := forced
	evaluated.how.forced = false
	conditional := slices.ContainsFunc(selected.rules, func(r *rule) bool { return r.when != nil })
	if conditional {
		r.play(forced)
	}
	first := r.play(evaluated)
	if conditional && len(selected.rules) == 1 {
		r.denials(forced, forced.act(request.Object))
	}
	r.failures(evaluated, first.failed)
	if slices.ContainsFunc(selected.rules, (*rule).mayMiss) {
		bare := evaluated
		bare.stage = stage.withoutOptional()
		r.failures(bare, slices.DeleteFunc(bare.act(request.Object).failed, func(f failed) bool {
			return slices.ContainsFunc(first.failed, func(known failed) bool { return known.rule == f.rule })
		}))
	}
}

// play plays a scene twice. It gives what came of the first time.
func (r *rehearsal) play(s scene) act {
	first := s.act(s.request.Object)
	if !s.how.forced {
		r.denials(s, first)
	}
	if first.object == nil {
		return first
	}
	if err := first.broken; err != nil {
		r.breaks(s, first)
		return first
	}
	second := s.act(first.object)
	if second.patch == nil {
		return first
	}
	culprits := slices.DeleteFunc(slices.Clone(second.changed), func(rule *rule) bool { return !s.alone(rule).repeats() })
	again := "applied to " + s.subject() + " of the sample %s a second time, it changes it again, at %s; a rule must leave alone what it made"
	for _, rule := range culprits {
		r.refuse(NotIdempotent, rule, again, s.stage, places(second.patch))
	}
	if len(culprits) == 0 {
		for _, rule := range second.changed {
			r.warn(NotIdempotent, rule, "with the other rules, "+again, s.stage, places(second.patch))
		}
	}
	return first
}

// breaks blames the rules that break the contract when they are applied alone, or else the first with which those before it do:
// it is refused if none of them has a condition.
func (r *rehearsal) breaks(s scene, first act) {
	const changed = " is changed in a way that the contract forbids: %s"
	alone := false
	for _, rule := range first.changed {
		if broken := s.alone(rule).act(s.request.Object).broken; broken != nil {
			alone = true
			r.refuse(BreaksContract, rule, "on the sample %s, "+s.subject()+changed, s.stage, broken)
		}
	}
	for i, last := range s.selected.rules {
		so := s.selected.rules[:i+1]
		if broken := s.with(so).act(s.request.Object).broken; broken != nil && !alone {
			report := r.refuse
			if !r.sound || slices.ContainsFunc(so, func(r *rule) bool { return r.when != nil }) {
				report = r.warn // the conditions may not hold together
			}
			report(BreaksContract, last.origin(), "with the rules before it, on the sample %s, "+s.subject()+changed, s.stage, broken)
			return
		}
	}
}

// denials warns of rules for which the sample would be denied: they ask for a container, unit or file that it does not have.
func (r *rehearsal) denials(s scene, a act) {
	if r.program.partial[s.selected.target.Name] {
		return
	}
	for _, denied := range a.denied {
		if denied.err.Reason == ContainerMissing || denied.err.Reason == NodePartMissing {
			r.warn(SampleDenied, denied.rule, "the sample %s would be denied: %s", s.stage, denied.err.Err)
		}
	}
}

// failures refuses expressions that exceed a limit on the sample, and warns of others that have no result on it, where that does not come
// of what only a sample has.
func (r *rehearsal) failures(s scene, all []failed) {
	for _, f := range all {
		if expression.ExceedsLimit(f.err) {
			at := source.Finding{Position: innermost(f.err).Position, Path: f.path(), Rule: expression.TooCostly}
			r.once(&r.findings, at, at.Position.String(), "on the sample %s: %s", s.stage, innermost(f.err).Message)
			continue
		}
		if !s.stage.bare && f.unlike() {
			continue
		}
		at := source.Finding{Position: f.err.Position, Path: f.path(), Rule: SampleDenied}
		r.once(&r.warnings, at.Warn(), innermost(f.err).Position.String(), "the sample %s would be denied: %s%s", s.stage, f.err.Message, s.stage.lacks())
	}
}

func (r *rehearsal) refuse(id source.Rule, rule *rule, format string, arguments ...any) {
	at := source.Finding{Position: rule.position, Path: rule.path, Rule: id}
	r.once(&r.findings, at, fmt.Sprintf("%s %.20s", rule.position, format), format, arguments...)
}

func (r *rehearsal) warn(id source.Rule, rule *rule, format string, arguments ...any) {
	at := source.Finding{Position: rule.position, Path: rule.path, Rule: id}
	r.once(&r.warnings, at.Warn(), fmt.Sprintf("%s %.20s", rule.position, format), format, arguments...)
}

// once adds a finding unless there is one with the key already: the next sample would say the same.
func (r *rehearsal) once(into *source.Findings, finding source.Finding, key, format string, arguments ...any) {
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	finding.Message = fmt.Sprintf(format, arguments...)
	*into = append(*into, finding)
}

// places are where a patch changes the object, the first few.
func places(patch []byte) string {
	const most = 3
	parsed, err := document.Parse(patch)
	if err != nil {
		return "unknown places"
	}
	defer parsed.Release()
	var found []string
	for _, operation := range parsed.Root().Items() {
		if len(found) == most {
			found = append(found, "…")
			break
		}
		found = append(found, text(operation.Get("path")))
	}
	return strings.Join(found, ", ")
}
