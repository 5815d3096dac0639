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
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// rehearseAll applies the rules to sample control planes, first with all conditions true and then as they are. It
// admits the result a second time, which must not change it, and checks it against the contract. Rules that cannot be
// computed on a sample are omitted. It returns findings with a single rule as their cause; other findings and denied
// objects become warnings, because a real control plane may have parts that the sample lacks. Rules that violate the
// contract only in combination are refused if the profiles have no findings so far.
func rehearseAll(p *Program, sound bool) (findings, warnings source.Findings) {
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

// scenes rehearses an object with its conditions true and as they are, and the latter also with optional lookups that
// find nothing.
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
	if slices.ContainsFunc(selected.rules, mayMissValues) {
		bare := evaluated
		bare.stage = stage.withoutOptional()
		r.failures(bare, slices.DeleteFunc(bare.act(request.Object).failed, func(f failed) bool {
			return slices.ContainsFunc(first.failed, func(known failed) bool { return known.rule == f.rule })
		}))
	}
}

// play admits the object of a scene twice and returns the result of the first admission.
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
	again := "applied to " + s.subject() + " of the sample %s a second time, it changes it again, at %s; a rule must not change its own result"
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

// breaks finds the rules that violate the contract when applied alone, or else the first that does so together with
// those before it: this one is refused if none of them has a condition.
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

// denials warns of rules for which the sample would be denied because it lacks a container, unit or file.
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

// failures refuses expressions that exceed a limit on the sample. It warns of others that fail on it, unless the cause
// is special to samples.
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

// places returns the first few places that a patch changes.
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

// scene is an object with the rules for it and the facts about its control plane.
type scene struct {
	program  *Program
	stage    *stage
	selected *selection
	request  Request
	how      how
}

// act is the result of admitting the object.
type act struct {
	// object is the object after it; nil when it could not be taken to the end.
	object  []byte
	patch   []byte
	changed []*rule
	denied  []denial
	// failed are expressions that have no result, by the rules that were left out for that.
	failed []failed
	broken error
}

type denial struct {
	rule *rule
	err  *Failure
}

// subject returns the name of the object for messages.
func (s scene) subject() string { return s.selected.target.Subject() }

// alone returns the scene with only one rule.
func (s scene) alone(r *rule) scene { return s.with([]*rule{r.origin()}) }

// with returns the scene with only these rules.
func (s scene) with(rules []*rule) scene {
	only := &selection{target: s.selected.target, form: s.selected.form, rules: rules}
	only.need()
	findContests(only)
	s.selected = only
	return s
}

// repeats reports whether a second application of the rules changes the object again.
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
	ctx, end := expression.Limit(context.Background())
	defer end()
	views, failure := selected.facts(ctx, s.program.generation, request, object, s.stage)
	if failure != nil {
		result.failed = s.unread(selected, failure)
		return nil
	}
	plan, err := selected.plan(ctx, s.program.generation, object, views)
	if err != nil {
		return nil
	}
	result.failed = s.failed(ctx, plan, views)
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

// neutral is the value of lookups in a rehearsal. It is valid as a name, a path and a region.
const neutral = "sample"

// stage is the source of facts for a sample control plane.
type stage struct {
	plane *static.Plane
	facts *facts.Facts
	// bare says that optional lookups find nothing.
	bare bool
}

// String returns the name of the sample for messages, with its kind.
func (s *stage) String() string {
	of := "a shoot's control plane as Gardener writes it"
	switch {
	case s.plane.Garden:
		of = "the control plane of a virtual garden as Gardener writes it"
	case s.plane.Legacy:
		of = "a shoot's control plane as Gardener of the older generation writes it"
	case s.facts != nil:
		of += " for Kubernetes " + s.facts.Kubernetes()
	}
	return s.plane.Name + " (" + of + ")"
}

// withoutOptional returns the stage with optional lookups that find nothing.
func (s *stage) withoutOptional() *stage { return &stage{s.plane, s.facts, true} }

// lacks returns the part of a message that names the missing lookups, or an empty string.
func (s *stage) lacks() string {
	if s.bare {
		return ", where an optional lookup finds nothing; what it finds is read with ?"
	}
	return ""
}

// stages reads the facts of all samples once.
var stages = sync.OnceValue(func() map[string]*facts.Facts {
	found := map[string]*facts.Facts{}
	for _, plane := range static.Planes() {
		read := facts.FromCluster
		if plane.Garden {
			read = facts.FromGarden
		}
		if f, err := read(plane.Source); err == nil {
			found[plane.Name] = f
		}
	}
	return found
})

func stageOf(plane *static.Plane) *stage { return &stage{plane, stages()[plane.Name], false} }

// Read implements facts.Source.
func (s *stage) Read(_ context.Context, namespace string) (*facts.Facts, error) {
	if s.facts == nil {
		return nil, facts.ErrNotFound
	}
	return s.facts.WithNamespace(facts.Namespace{Name: namespace}), nil
}

// Lookup implements facts.Source. It finds every object, or only those of required lookups.
func (s *stage) Lookup(_ context.Context, _ string, l facts.LookupRequest) (*facts.Found, error) {
	if s.bare && l.Optional {
		return nil, l.Missing()
	}
	found := &facts.Found{
		Keys: neutralTexts(l.Keys), Labels: neutralTexts(l.Labels), Annotations: neutralTexts(l.Annotations), Fields: map[string]any{},
		Checksum: strings.Repeat("0", 64),
	}
	for name := range l.Fields {
		found.Fields[name] = neutral
	}
	return found, nil
}

func neutralTexts(keys []string) map[string]string {
	texts := make(map[string]string, len(keys))
	for _, key := range keys {
		texts[key] = neutral
	}
	return texts
}

// failed is an expression that has no result on a sample.
type failed struct {
	// rule is the one that has it; nil for the name of an object that is looked up.
	rule *rule
	err  *expression.EvaluationError
	// scope defines the variables of the expression, and references lists those that this part of the rule uses.
	scope      *scope
	references []string
}

// path returns the path of the expression in the profile.
func (f failed) path() string {
	if f.rule == nil {
		return lookupsName
	}
	return f.rule.path
}

// failed returns the rules that a plan omits because an expression failed.
func (s scene) failed(ctx context.Context, plan Plan, views views) []failed {
	var all []failed
	for i := range plan.Rules {
		if r := plan.Rules[i].rule; plan.Rules[i].Skipped == cannotCompute {
			references, err := s.fails(ctx, r, views)
			if found := new(expression.EvaluationError); errors.As(err, &found) {
				all = append(all, failed{rule: r.origin(), err: found, scope: r.scope, references: references})
			}
		}
	}
	return all
}

// fails computes a rule once more, to find the part of it that has no result.
func (s scene) fails(ctx context.Context, r *rule, views views) ([]string, error) {
	variables := views.of(r.scope)
	if r.family != nil {
		_, err := planFamily(ctx, r, variables, s.how)
		return r.references(), err
	}
	planned := PlannedRule{rule: r}
	if holds, err := planned.holds(ctx, variables, s.how); err != nil || !holds {
		return r.when.References(), err
	}
	for i := range r.writes {
		if _, err := r.writes[i].Resolve(ctx, variables); err != nil {
			return r.writes[i].Value.References(), err
		}
	}
	return nil, nil
}

// unread returns the failed name of an object to look up.
func (s scene) unread(selected *selection, failure *Failure) []failed {
	found := new(expression.EvaluationError)
	if !errors.As(failure, &found) {
		return nil
	}
	var nearest *lookup
	unread := failed{err: found}
	for _, scope := range selected.needs.scopes {
		for _, l := range scope.lookups {
			if l.at.File == found.File && l.at.Line <= found.Line && (nearest == nil || l.at.Line > nearest.at.Line) {
				nearest, unread.scope, unread.references = l, scope, l.references()
			}
		}
	}
	if nearest == nil {
		return nil
	}
	return []failed{unread}
}

// ofClouds lists the variables that differ between a sample and a control plane of the profile's cloud: those of the
// cloud, those that only an installation has, and results of lookups, for which a sample has a placeholder.
var ofClouds = []string{
	"shoot.infrastructureConfig", "shoot.controlPlaneConfig", "shoot.spec.provider", "shoot.workers", "pool.providerConfig",
	"seed.providerConfig", "seed.spec", "seed.labels", "seed.annotations", "cloudProfile", "namespaceObject", imagesName, lookupsName,
}

// unlike reports whether the expression may fail only because a sample differs from real control planes.
func (f failed) unlike() bool {
	named := map[string]bool{}
	f.scope.expand(f.references, named)
	for reference := range named {
		if slices.ContainsFunc(ofClouds, func(known string) bool { return reference == known || strings.HasPrefix(reference, known+".") }) {
			return true
		}
	}
	return false
}

// innermost returns the original failure: the failure of a profile's variable also fails the expressions that use it.
func innermost(err *expression.EvaluationError) *expression.EvaluationError {
	for inner := new(expression.EvaluationError); errors.As(err.Unwrap(), &inner); {
		err = inner
	}
	return err
}

// mayMissValues reports whether the rule reads a lookup that may find nothing.
func mayMissValues(r *rule) bool {
	r.need()
	return slices.ContainsFunc(r.scope.lookups, func(l *lookup) bool {
		return l.request.Optional && r.reach.lookups[r.scope][l.request.Name]
	})
}
