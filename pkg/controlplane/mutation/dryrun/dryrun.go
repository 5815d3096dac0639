// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package dryrun applies a program to sample control planes when profiles are loaded, to find rules that change
// their own result, break the contract or deny an object. Start reading at Run.
package dryrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const (
	// NotIdempotent means that a rule changes its own result when applied again.
	NotIdempotent source.LintRule = "not-idempotent"
	// BreaksContract means that a rule changes a sample in a way that the contract forbids.
	BreaksContract source.LintRule = "breaks-contract"
	// SampleDenied means that a rule or kube-apiserver would deny a sample.
	SampleDenied source.LintRule = "sample-denied"
)

// Run applies the rules to sample control planes, first with all conditions true and then as they are. It
// admits the result a second time, which must not change it, and checks it against the contract. Rules that cannot be
// computed on a sample are omitted. It returns findings with a single rule as their cause; other findings and denied
// objects become warnings, because a real control plane may have parts that the sample lacks. Rules that violate the
// contract only in combination are refused if the profiles have no findings so far.
func Run(p *mutation.Program, partial map[string]bool, sound bool) (findings, warnings source.Findings) {
	r := dryRun{program: p, partial: partial, sound: sound, seen: map[string]bool{}}
	for i := range static.Planes() {
		plane := &static.Planes()[i]
		if plane.Legacy != (p.Generation() == contract.Labelled) {
			continue
		}
		sample := newSample(plane)
		for _, raw := range plane.Objects {
			r.object(sample, raw)
		}
	}
	return r.findings, r.warnings
}

// dryRun is the dry run of a program on all samples.
type dryRun struct {
	program *mutation.Program
	// partial holds the names of targets with a rule that could not be compiled.
	partial map[string]bool
	// seen are the findings and warnings so far.
	seen map[string]bool
	// sound is true if the profiles have no findings so far.
	sound              bool
	findings, warnings source.Findings
}

func (r *dryRun) object(sample *sample, raw []byte) {
	parsed, err := document.Parse(raw)
	if err != nil {
		return
	}
	request := mutation.CreationOf(parsed.Root(), sample.plane.Garden)
	parsed.Release()
	for _, key := range r.program.ScopeKeys() {
		if key.Garden != sample.plane.Garden {
			continue
		}
		request.Set, request.Provider, request.Garden = key.Set, key.Provider, key.Garden
		selected, failure := r.program.SelectRules(request)
		if selected == nil || failure != nil || len(selected.Rules) == 0 {
			continue
		}
		request.Object = raw
		r.variants(sample, selected, request)
	}
}

// variants tries an object with its conditions true and as they are, and the latter also with optional lookups that
// find nothing.
func (r *dryRun) variants(s *sample, selected *mutation.Selection, request mutation.Request) {
	forced := admission{r.program, s, selected, request, mutation.PlanMode{OmitFailing: true, Forced: true}}
	evaluated := forced
	evaluated.mode.Forced = false
	conditional := slices.ContainsFunc(selected.Rules, func(r *mutation.Rule) bool { return r.When != nil })
	if conditional {
		result := r.admitTwice(forced)
		if len(selected.Rules) == 1 {
			r.denials(forced, result)
		}
	}
	first := r.admitTwice(evaluated)
	r.failures(evaluated, first.failed)
	if slices.ContainsFunc(selected.Rules, mayMissValues) {
		bare := evaluated
		bare.sample = &sample{s.plane, s.facts, true}
		r.failures(bare, slices.DeleteFunc(bare.admit(request.Object).failed, func(f failed) bool {
			return slices.ContainsFunc(first.failed, func(known failed) bool { return known.rule == f.rule })
		}))
	}
}

// admitTwice admits the object twice and returns the result of the first admission.
func (r *dryRun) admitTwice(s admission) admissionResult {
	first := s.admit(s.request.Object)
	if !s.mode.Forced {
		r.denials(s, first)
	}
	if first.object == nil {
		return first
	}
	if err := first.broken; err != nil {
		r.breaks(s, first)
		return first
	}
	r.incomplete(s, first)
	second := s.admit(first.object)
	if second.patch == nil {
		return first
	}
	culprits := slices.DeleteFunc(slices.Clone(second.changed), func(rule *mutation.Rule) bool { return !s.alone(rule).repeats() })
	again := "applied to " + s.subject() + " of the sample %s a second time, it changes it again, at %s; a rule must not change its own result"
	for _, rule := range culprits {
		r.refuse(NotIdempotent, rule, again, s.sample, places(second.patch))
	}
	if len(culprits) == 0 {
		for _, rule := range second.changed {
			r.warn(NotIdempotent, rule, "with the other rules, "+again, s.sample, places(second.patch))
		}
	}
	return first
}

// breaks reports the rules that break the contract when applied alone, or else the first rule that breaks it together
// with the rules before it. The latter is an error only if none of them has a condition.
func (r *dryRun) breaks(s admission, first admissionResult) {
	const changed = " is changed in a way that the contract forbids: %s"
	alone := false
	for _, rule := range first.changed {
		if broken := s.alone(rule).admit(s.request.Object).broken; broken != nil {
			alone = true
			r.refuse(BreaksContract, rule, "on the sample %s, "+s.subject()+changed, s.sample, broken)
		}
	}
	for i, last := range s.selected.Rules {
		so := s.selected.Rules[:i+1]
		if broken := s.with(so).admit(s.request.Object).broken; broken != nil && !alone {
			report := r.refuse
			if !r.sound || slices.ContainsFunc(so, func(r *mutation.Rule) bool { return r.When != nil }) {
				report = r.warn // the conditions may exclude each other
			}
			report(BreaksContract, last.Origin(), "with the rules before it, on the sample %s, "+s.subject()+changed, s.sample, broken)
			return
		}
	}
}

// denials warns of rules for which the sample would be denied because it lacks a container, unit or file.
func (r *dryRun) denials(s admission, a admissionResult) {
	if r.partial[s.selected.Target.Name] {
		return
	}
	for _, denied := range a.denied {
		if denied.Reason == mutation.ContainerMissing || denied.Reason == mutation.NodePartMissing {
			r.warn(SampleDenied, denied.Rule, "the sample %s would be denied: %s", s.sample, denied.Err)
		}
	}
}

// incomplete warns of the rules that cause a problem of the resulting pod template, alone or together with others.
func (r *dryRun) incomplete(s admission, first admissionResult) {
	problemsOf := func(a admission) []string { return podProblems(a.admit(s.request.Object).object) }
	for _, problem := range podProblems(first.object) {
		for _, rule := range first.changed {
			others := slices.DeleteFunc(slices.Clone(s.selected.Rules), func(other *mutation.Rule) bool { return other.Origin() == rule })
			if slices.Contains(problemsOf(s.alone(rule)), problem) || !slices.Contains(problemsOf(s.with(others)), problem) {
				at := source.Finding{Position: rule.Position, Path: rule.Path, Rule: SampleDenied}
				r.once(&r.warnings, at.Warn(), rule.Position.String()+problem, "kube-apiserver would reject the sample %s: %s", s.sample, problem)
			}
		}
	}
}

// podProblems returns the containers without an image and the mounts without a volume in the pod template of an object.
func podProblems(object []byte) (problems []string) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil
	}
	defer parsed.Release()
	spec := parsed.Root().Get("spec")
	pod := spec.Find("template", "spec")
	volumes := map[string]bool{}
	for _, volume := range pod.Get("volumes").Items() {
		volumes[textOf(volume.Get("name"))] = true
	}
	for _, claim := range spec.Get("volumeClaimTemplates").Items() {
		volumes[textOf(claim.Find("metadata", "name"))] = true
	}
	for _, container := range slices.Concat(pod.Get("initContainers").Items(), pod.Get("containers").Items()) {
		name := textOf(container.Get("name"))
		if textOf(container.Get("image")) == "" {
			problems = append(problems, fmt.Sprintf("the container %q has no image", name))
		}
		for _, mount := range container.Get("volumeMounts").Items() {
			if volume := textOf(mount.Get("name")); !volumes[volume] {
				problems = append(problems, fmt.Sprintf("the container %q mounts the volume %q, which does not exist", name, volume))
			}
		}
	}
	return problems
}

func textOf(n *document.Node) string {
	text, _ := n.Text()
	return text
}

// failures reports expressions that exceed a limit on the sample as errors. It warns of other failing expressions,
// unless the cause is specific to samples.
func (r *dryRun) failures(s admission, all []failed) {
	for _, f := range all {
		if expression.ExceedsLimit(f.err) {
			at := source.Finding{Position: innermost(f.err).Position, Path: f.path(), Rule: expression.TooCostly}
			r.once(&r.findings, at, at.Position.String(), "on the sample %s: %s", s.sample, innermost(f.err).Message)
			continue
		}
		if !s.sample.bare && f.unlike() {
			continue
		}
		at := source.Finding{Position: f.err.Position, Path: f.path(), Rule: SampleDenied}
		r.once(&r.warnings, at.Warn(), innermost(f.err).Position.String(), "the sample %s would be denied: %s%s", s.sample, f.err.Message, s.sample.lacks())
	}
}

func (r *dryRun) refuse(id source.LintRule, rule *mutation.Rule, format string, arguments ...any) {
	at := source.Finding{Position: rule.Position, Path: rule.Path, Rule: id}
	r.once(&r.findings, at, fmt.Sprintf("%s %.20s", rule.Position, format), format, arguments...)
}

func (r *dryRun) warn(id source.LintRule, rule *mutation.Rule, format string, arguments ...any) {
	at := source.Finding{Position: rule.Position, Path: rule.Path, Rule: id}
	r.once(&r.warnings, at.Warn(), fmt.Sprintf("%s %.20s", rule.Position, format), format, arguments...)
}

// once adds a finding unless there is one with the same key, because other samples produce the same finding.
func (r *dryRun) once(into *source.Findings, finding source.Finding, key, format string, arguments ...any) {
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
		path, _ := operation.Get("path").Text()
		found = append(found, path)
	}
	return strings.Join(found, ", ")
}

// admission is the admission of a sample object: the rules for it and the facts about its control plane.
type admission struct {
	program  *mutation.Program
	sample   *sample
	selected *mutation.Selection
	request  mutation.Request
	mode     mutation.PlanMode
}

// admissionResult is the result of admitting the object.
type admissionResult struct {
	// object is the resulting object; nil if the admission failed.
	object  []byte
	patch   []byte
	changed []*mutation.Rule
	denied  []*mutation.Failure
	// failed has the expressions without a result, by the rules that were omitted for this reason.
	failed []failed
	broken error
}

// subject returns the name of the object for messages.
func (s admission) subject() string { return s.selected.Target.Subject() }

// alone returns the admission with only one rule.
func (s admission) alone(r *mutation.Rule) admission { return s.with([]*mutation.Rule{r.Origin()}) }

// with returns the admission with only these rules.
func (s admission) with(rules []*mutation.Rule) admission {
	reduced := *s.selected
	reduced.Rules, s.selected = rules, &reduced
	return s
}

// repeats reports whether a second application of the rules changes the object again.
func (s admission) repeats() bool {
	first := s.admit(s.request.Object)
	return first.object != nil && first.broken == nil && s.admit(first.object).patch != nil
}

// admit admits the object without the rules that would deny it.
func (s admission) admit(raw []byte) admissionResult {
	var result admissionResult
	request, selected := s.request, *s.selected
	request.Object, selected.Mode = raw, s.mode
	for range len(selected.Rules) + 1 {
		object, failure := selected.Read(request)
		if failure != nil {
			return result
		}
		denied := s.applyTo(object, &selected, request, &result)
		if denied == nil {
			return result
		}
		result.denied = append(result.denied, denied)
		selected.Rules = slices.DeleteFunc(slices.Clone(selected.Rules), func(r *mutation.Rule) bool { return r == denied.Rule })
	}
	return result
}

// applyTo admits the object. It returns a denial that a rule caused, which names the rule.
func (s admission) applyTo(object *target.Object, selected *mutation.Selection, request mutation.Request, result *admissionResult) *mutation.Failure {
	ctx, end := expression.Limit(context.Background())
	defer end()
	views, failure := selected.Facts(ctx, s.program.Generation(), request, object, s.sample, nil)
	if failure != nil {
		result.failed = unread(failure)
		return nil
	}
	plan, err := selected.Plan(ctx, s.program.Generation(), object, views)
	if err != nil {
		return nil
	}
	result.failed = failedIn(plan)
	applied, err := plan.Apply(object, nil, nil)
	if err != nil {
		var failure *mutation.Failure
		if errors.As(err, &failure) && failure.Rule != nil {
			return failure
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
		result.broken = contract.Protect(object, s.program.Generation(), plan.Exemption())
	}
	for i := range applied {
		if applied[i].Outcome == mutation.Changed {
			result.changed = append(result.changed, plan.Rules[i].Rule.Origin())
		}
	}
	return nil
}

// failed is an expression that has no result on a sample.
type failed struct {
	// rule is the rule with the expression; nil for the name of a looked-up object.
	rule *mutation.Rule
	err  *expression.EvaluationError
	// scope defines the variables of the expression, and references lists those that this part of the rule uses.
	scope      *scope.Scope
	references []string
}

// path returns the path of the expression in the profile.
func (f failed) path() string {
	if f.rule == nil {
		return scope.LookupsName
	}
	return f.rule.Path
}

// failedIn returns the rules that a plan omits because an expression failed.
func failedIn(plan mutation.Plan) []failed {
	var all []failed
	for _, planned := range plan.Rules {
		if err := new(expression.EvaluationError); errors.As(planned.Failed, &err) {
			all = append(all, failed{rule: planned.Rule.Origin(), err: err, scope: planned.Rule.Scope, references: planned.Read})
		}
	}
	return all
}

// unread returns the failed name of an object to look up.
func unread(failure *mutation.Failure) []failed {
	lookup, found := new(scope.LookupError), new(expression.EvaluationError)
	if !errors.As(failure, &lookup) || !errors.As(lookup, &found) {
		return nil
	}
	return []failed{{err: found, scope: lookup.Lookup.Scope, references: lookup.Lookup.References()}}
}

// ofClouds lists the variables that differ between a sample and a control plane of the profile's cloud: those of the
// cloud, those that only an installation has, and results of lookups, which a sample invents.
var ofClouds = []string{
	"shoot.infrastructureConfig", "shoot.controlPlaneConfig", "shoot.spec.provider", "shoot.workers", "pool.providerConfig",
	"seed.providerConfig", "seed.spec", "seed.labels", "seed.annotations", "cloudProfile", "namespaceObject", scope.ImagesName, scope.LookupsName,
}

// unlike reports whether an expression may fail only because the sample differs from real control planes.
func (f failed) unlike() bool {
	for reference := range f.scope.Expand(f.references) {
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
func mayMissValues(r *mutation.Rule) bool {
	return slices.ContainsFunc(r.Needs.Lookups, func(l *scope.Lookup) bool { return l.Request.Optional })
}

// neutral is the value of lookups in a dry run. It is valid as a name, a path and a region.
const neutral = "sample"

// sample is the source of facts for a sample control plane.
type sample struct {
	plane *static.Plane
	facts *facts.Facts
	// bare is true if optional lookups find nothing.
	bare bool
}

// String returns the name of the sample for messages, with its kind.
func (s *sample) String() string {
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

// lacks returns the part of a message that names the missing lookups, or an empty string.
func (s *sample) lacks() string {
	if s.bare {
		return ", where an optional lookup finds nothing; read its fields with ?"
	}
	return ""
}

// newSample reads the facts of a sample control plane.
func newSample(plane *static.Plane) *sample {
	read := facts.FromCluster
	if plane.Garden {
		read = facts.FromGarden
	}
	found, _ := read(plane.Source)
	return &sample{plane: plane, facts: found}
}

// Read implements facts.Source.
func (s *sample) Read(_ context.Context, namespace string) (*facts.Facts, error) {
	if s.facts == nil {
		return nil, facts.ErrNotFound
	}
	return s.facts.WithNamespace(facts.Namespace{Name: namespace}), nil
}

// Lookup implements facts.Source. It finds every object, or only those of required lookups.
func (s *sample) Lookup(_ context.Context, _ string, l facts.LookupRequest) (*facts.LookupResult, error) {
	if s.bare && l.Optional {
		return nil, l.Missing()
	}
	found := &facts.LookupResult{
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
