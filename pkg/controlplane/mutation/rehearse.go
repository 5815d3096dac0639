// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// rehearse applies the rules to sample control planes: with all conditions taken for true, and as they are. What comes out is
// admitted a second time and must not change, and must be within the contract. A rule that cannot be computed on a sample is
// left out. Findings of which a single rule is the cause are returned; others, and objects that would be denied, are warnings.
func (p *Program) rehearse() (findings, warnings source.Findings) {
	r := rehearsal{program: p, done: map[string]bool{}, seen: map[string]bool{}}
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
	seen               map[string]bool
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

// scenes are an object with its conditions taken for true, and as they are.
func (r *rehearsal) scenes(stage *stage, selected *selection, request Request) {
	forced := scene{r.program, stage, selected, request, how{rehearsed: true, forced: true}}
	r.play(forced)
	if slices.ContainsFunc(selected.rules, func(r *rule) bool { return r.when != nil }) {
		evaluated := forced
		evaluated.how.forced = false
		r.play(evaluated)
	}
}

// play plays a scene twice.
func (r *rehearsal) play(s scene) {
	first := s.act(s.request.Object)
	if !s.how.forced || len(s.selected.rules) == 1 {
		r.denials(s, first)
	}
	if first.object == nil {
		return
	}
	if err := first.broken; err != nil {
		r.blame(BreaksContract, s, first.changed, "on the sample %s, "+s.subject()+" is changed in a way that the contract forbids: %s", s.stage.plane.Name, err)
		return
	}
	second := s.act(first.object)
	if second.patch == nil {
		return
	}
	culprits := slices.DeleteFunc(slices.Clone(second.changed), func(rule *rule) bool { return !s.alone(rule).repeats() })
	again := "applied to " + s.subject() + " of the sample %s a second time, it changes it again, at %s; a rule must leave alone what it made"
	if len(culprits) > 0 {
		r.blame(NotIdempotent, s, culprits, again, s.stage.plane.Name, places(second.patch))
		return
	}
	for _, rule := range second.changed {
		r.warn(NotIdempotent, rule, "with the other rules, "+again, s.stage.plane.Name, places(second.patch))
	}
}

// denials warns of rules for which the sample would be denied: they ask for a container, unit or file that it does not have.
func (r *rehearsal) denials(s scene, a act) {
	if r.program.partial[s.selected.target.Name] {
		return
	}
	for _, denied := range a.denied {
		if denied.err.Reason == ContainerMissing || denied.err.Reason == NodePartMissing {
			r.warn(SampleDenied, denied.rule, "the sample %s would be denied: %s", s.stage.plane.Name, denied.err.Err)
		}
	}
}

// blame makes a finding of what a single one of the rules causes, and warnings of what none causes alone.
func (r *rehearsal) blame(id source.Rule, s scene, rules []*rule, format string, arguments ...any) {
	for _, rule := range rules {
		alone := s.alone(rule)
		if a := alone.act(alone.request.Object); a.broken == nil && !alone.repeats() {
			r.warn(id, rule, format, arguments...)
			continue
		}
		if finding := r.once(id, rule, format, arguments...); finding != nil {
			r.findings = append(r.findings, *finding)
		}
	}
}

func (r *rehearsal) warn(id source.Rule, rule *rule, format string, arguments ...any) {
	if finding := r.once(id, rule, format, arguments...); finding != nil {
		r.warnings = append(r.warnings, finding.Warn())
	}
}

// once makes a finding of a rule unless there is one already: the next sample would say the same.
func (r *rehearsal) once(id source.Rule, rule *rule, format string, arguments ...any) *source.Finding {
	if key := fmt.Sprintf("%s %.20s", rule.position, format); !r.seen[key] {
		r.seen[key] = true
		return &source.Finding{Position: rule.position, Path: rule.path, Message: fmt.Sprintf(format, arguments...), Rule: id}
	}
	return nil
}

// scene is one object, the rules for it, and what is known of its control plane.
type scene struct {
	program  *Program
	stage    *stage
	selected *selection
	request  Request
	how      how
}

// act is what became of the object.
type act struct {
	// object is the object after it; nil when it could not be taken to the end.
	object  []byte
	patch   []byte
	changed []*rule
	denied  []denial
	broken  error
}

type denial struct {
	rule *rule
	err  *Failure
}

// subject is the object for messages.
func (s scene) subject() string { return s.selected.target.Subject() }

// alone is the scene with one rule only.
func (s scene) alone(r *rule) scene {
	only := &selection{target: s.selected.target, form: s.selected.form, rules: []*rule{r.origin()}}
	only.need()
	only.meet()
	s.selected = only
	return s
}

// repeats says whether the rules change the object when they are applied a second time.
func (s scene) repeats() bool {
	first := s.act(s.request.Object)
	return first.object != nil && first.broken == nil && s.act(first.object).patch != nil
}

// act admits the object without those rules that would deny it.
func (s scene) act(raw []byte) act {
	var result act
	request, selected := s.request, *s.selected
	request.Object, selected.how = raw, s.how
	for range len(selected.rules) + 1 {
		object, failure := selected.read(request)
		if failure != nil {
			return result
		}
		denied := s.applyTo(object, &selected, request, &result)
		if denied == nil {
			return result
		}
		result.denied = append(result.denied, *denied)
		selected.rules = slices.DeleteFunc(slices.Clone(selected.rules), func(r *rule) bool { return r == denied.rule })
	}
	return result
}

// applyTo takes the object through the engine; the denial is that of the rule that stopped it.
func (s scene) applyTo(object *target.Object, selected *selection, request Request, result *act) *denial {
	ctx := context.Background()
	views, failure := selected.facts(ctx, s.program.generation, request, object, s.stage)
	if failure != nil {
		return nil
	}
	plan, err := selected.plan(ctx, s.program.generation, object, views)
	if err != nil {
		return nil
	}
	applied, err := plan.apply(object, nil, nil)
	if err != nil {
		var failure *Failure
		if errors.As(err, &failure) && len(applied) < len(plan.Rules) || len(applied) > 0 && applied[len(applied)-1].Outcome == Skipped {
			return &denial{plan.Rules[len(applied)-1].rule.origin(), failure}
		}
		return nil
	}
	result.object = object.Document.Bytes()
	if object.Document.Err() != nil {
		result.object = nil
		return nil
	}
	if object.Document.Changed() {
		result.patch = object.Document.Patch()
		result.broken = contract.Protect(object, s.program.generation, plan.exemption())
	}
	for i := range applied {
		if applied[i].Outcome == Changed {
			result.changed = append(result.changed, plan.Rules[i].rule.origin())
		}
	}
	return nil
}

// origin is the rule as it was compiled, of which a member of a family is a copy.
func (r *rule) origin() *rule {
	if r.whole != nil {
		return r.whole
	}
	return r
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
