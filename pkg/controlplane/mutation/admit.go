// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package mutation mutates objects with a compiled Program: it selects the rules for an object, plans them (evaluates
// conditions and values, and finds overridden writes), applies the plan, and compares the protected parts with the
// original object. It reads no files, clusters or clocks. Start reading at Program.Admit and admissionSteps. Package
// compiler makes programs of profiles, and package explanation explains every decision.
package mutation

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Admit selects the rules for an object, reads the facts that they need, plans and applies them, and checks the result.
// If it fails, the object must be denied; the error is a *Failure.
func (p *Program) Admit(ctx context.Context, r Request, source facts.Source) (*Result, error) {
	return p.Trace(ctx, r, source, nil)
}

// Trace works like Admit and calls the observer with the object after each step. It fails with a *Failure if the object
// is denied.
func (p *Program) Trace(ctx context.Context, r Request, source facts.Source, observe Observer) (*Result, error) {
	selected, failure := p.SelectRules(r)
	switch {
	case failure != nil:
		return &Result{}, failure
	case selected == nil:
		return &Result{}, nil
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	result, failure := p.admitSelected(ctx, selected, r, source, observe)
	if failure != nil {
		failure.Target = selected.Target.Subject()
		return nil, failure
	}
	return result, nil
}

// admitSelected applies the enforced rules of a selection, and then computes the effects of the observed ones.
func (p *Program) admitSelected(ctx context.Context, selected *Selection, r Request, source facts.Source, observe Observer) (*Result, *Failure) {
	if selected.Enforced == nil {
		return p.enforce(ctx, selected, r, source, observe)
	}
	if r.Object == nil {
		r.Object = r.Document.Original().Raw()
	}
	result := &Result{Target: selected.Target.Subject()}
	if len(selected.Enforced.Rules) > 0 || selected.Enforced.record != "" {
		var failure *Failure
		if result, failure = p.enforce(ctx, selected.Enforced, r, source, observe); failure != nil {
			return nil, failure
		}
	}
	p.observe(ctx, selected, r, source, result)
	return result, nil
}

// admission is the state of an admission. Each step adds its results.
type admission struct {
	program  *Program
	rules    *Selection
	request  Request
	source   facts.Source
	observer Observer

	object *target.Object
	views  Views
	plan   Plan
	result *Result
	done   bool // nothing is left to do
}

// admissionSteps lists the steps of an admission in their order. Each step can use the results of the steps before it.
// A step that sets done ends the admission.
var admissionSteps = []func(context.Context, *admission) error{
	readObject,      // parse the object, check the container that the contract requires
	lookUpFacts,     // read only the facts and lookups that the rules name
	planRules,       // evaluate conditions and values, find overridden writes and denials
	applyPlan,       // write the values into the object
	recordOriginals, // record the replaced values, and restore those that former rules replaced
	protectContract, // compare the protected parts with the original
	markVersions,    // write the versions of the profiles into an annotation
}

// enforce runs the steps of an admission with the rules of a selection, and returns the patch.
func (p *Program) enforce(ctx context.Context, selected *Selection, r Request, source facts.Source, observe Observer) (*Result, *Failure) {
	a := &admission{program: p, rules: selected, request: r, source: source, observer: observe}
	a.result = &Result{Target: selected.Target.Subject()}
	defer func() {
		if a.object != nil {
			a.object.ForgetCommandLines()
		}
	}()
	for _, step := range admissionSteps {
		if err := step(ctx, a); err != nil {
			return nil, asFailure(err)
		}
		if a.done {
			return a.result, nil
		}
	}
	a.result.Patch, a.result.Versions = a.object.Document.Patch(), selected.mark.Versions
	return a.result, nil
}

func readObject(_ context.Context, a *admission) error {
	object, failure := a.rules.Read(a.request)
	if failure != nil {
		return failure
	}
	a.object, a.done = object, object.BeingDeleted()
	return nil
}

func lookUpFacts(ctx context.Context, a *admission) error {
	views, failure := a.rules.Facts(ctx, a.program.generation, a.request, a.object, a.source, nil)
	if failure != nil {
		return failure
	}
	a.views = views
	return nil
}

func planRules(ctx context.Context, a *admission) (err error) {
	a.plan, err = a.rules.Plan(ctx, a.program.generation, a.object, a.views)
	return err
}

func applyPlan(_ context.Context, a *admission) (err error) {
	cache := a.program.cache
	if a.rules.sensitive {
		cache = nil
	}
	if a.result.Applied, err = a.plan.Apply(a.object, a.observer, cache); err != nil {
		return err
	}
	if err := a.object.Document.Err(); err != nil {
		return fail(ObjectUnreadable, err, "%s", a.object.Form)
	}
	return nil
}

func recordOriginals(_ context.Context, a *admission) error {
	if err := writeRecord(a.rules, a.object, a.plan); err != nil {
		return applyFailure("the record of replaced values", err)
	}
	a.done = !a.object.Document.Changed()
	return nil
}

func protectContract(_ context.Context, a *admission) error {
	if err := contract.Protect(a.object, a.program.generation, a.plan.Exemption()); err != nil {
		return applyFailure(a.object.Form.String(), err)
	}
	return nil
}

func markVersions(_ context.Context, a *admission) error {
	marked, err := a.rules.mark.Write(a.object)
	if err != nil {
		return applyFailure("the annotation of the mark", err)
	}
	if marked && a.observer != nil {
		a.observer(Applied{Rule: "mark", Outcome: Changed}, Step{}, a.object)
	}
	return nil
}

// observe adds the effects of observed rules to the result of the enforced ones. It applies both to a copy of the
// object. It reports failures there, but denies nothing: neither a panic nor a timeout affects the admission.
func (p *Program) observe(ctx context.Context, selected *Selection, r Request, source facts.Source, result *Result) {
	if !r.ObserveUntil.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.ObserveUntil)
		defer cancel()
	}
	enforced := *result
	defer func() {
		if value := recover(); value != nil {
			*result = enforced
			result.Panic = fmt.Errorf("a rule that is only observed: panic of type %T, at %s", value, debug.Stack())
			result.denyAll(selected, &Failure{Reason: Internal})
		}
	}()
	p.tryAll(ctx, selected, r, source, result)
}

// tryAll applies all rules to a copy.
func (p *Program) tryAll(ctx context.Context, selected *Selection, r Request, source facts.Source, result *Result) {
	r.Document = nil
	// A rule that would deny the object is omitted, so that the others are still computed.
	lenient := *selected
	lenient.Mode.OmitFailing = true
	all, failure := p.enforce(ctx, &lenient, r, source, nil)
	if failure != nil {
		result.denyAll(selected, failure)
		return
	}
	observed := map[string]bool{}
	for _, rule := range selected.Rules {
		if rule.Observed {
			observed[rule.Profile+rule.Position.String()] = true
		}
	}
	enforced := result.Applied
	result.Applied = nil
	for _, applied := range all.Applied {
		switch {
		case observed[applied.Profile+applied.Position.String()]:
			result.Applied = append(result.Applied, applied.observed())
		case len(enforced) > 0:
			result.Applied, enforced = append(result.Applied, enforced[0]), enforced[1:]
		}
	}
}

const wouldDeny = "would deny the object: "

// effects describe the outcomes that observed rules would have. Only the last one has a reason, which follows.
var effects = map[Outcome]string{Changed: "would change the object", Unchanged: "would change nothing", Overridden: "would be overridden by "}

// denyAll reports for every observed rule that it would deny the object. It is used if the failing rule is unknown.
func (r *Result) denyAll(selected *Selection, failure *Failure) {
	for _, rule := range selected.Rules {
		if rule.Observed {
			r.Applied = append(r.Applied, Applied{
				Profile: rule.Profile, Rule: rule.Name, Position: rule.Position, Outcome: Observed, Would: Denied, Reason: wouldDeny + string(failure.Reason),
			})
		}
	}
}

// observed returns the outcome to report for a rule that was applied to a copy.
func (a Applied) observed() Applied {
	if effect, ok := effects[a.Outcome]; ok {
		a.Outcome, a.Would, a.Reason = Observed, a.Outcome, effect+a.Reason
	}
	return a
}
