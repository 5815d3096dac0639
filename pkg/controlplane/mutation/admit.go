// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

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
	result, failure := p.admit(ctx, r, source, observe)
	return result, asError(failure)
}

func (p *Program) admit(ctx context.Context, r Request, source facts.Source, observe Observer) (*Result, *Failure) {
	selected, failure := p.SelectRules(r)
	if selected == nil || failure != nil {
		return &Result{}, failure
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	result, failure := p.admitSelected(ctx, selected, r, source, observe)
	if failure != nil {
		failure.Target = selected.Target.Subject()
	}
	return result, failure
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
	defer a.release()
	for _, step := range admissionSteps {
		if err := step(ctx, a); err != nil {
			return nil, asFailure(err)
		}
		if a.done {
			return a.result, nil
		}
	}
	a.result.Patch, a.result.Versions = a.object.Document.Patch(), selected.mark.Value
	return a.result, nil
}

// release makes the memory of the object's command lines available to the next admission.
func (a *admission) release() {
	if a.object != nil {
		a.object.ForgetCommandLines()
	}
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
	all, failure := p.enforce(ctx, selected, r, source, nil)
	if failure != nil {
		// Try again without expressions that cannot be computed, to find the rule that caused the failure.
		lenient := *selected
		lenient.Mode.OmitFailing = true
		var again *Failure
		if all, again = p.enforce(ctx, &lenient, r, source, nil); again != nil {
			result.denyAll(selected, failure)
			return
		}
		all.Patch = nil
		for i := range all.Applied {
			if a := &all.Applied[i]; a.Reason == notComputed {
				a.Outcome, a.Would, a.Reason = Observed, Denied, wouldDeny+string(failure.Reason)
			}
		}
	}
	observed := map[string]bool{}
	for _, rule := range selected.Rules {
		if rule.Observed {
			observed[rule.Profile+rule.Position.String()] = true
		}
	}
	enforced := result.Applied
	result.Observed, result.Applied = all.Patch, nil
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
	switch a.Outcome {
	case Changed:
		a.Reason = "would change the object"
	case Unchanged:
		a.Reason = "would change nothing"
	case Overridden:
		a.Reason = "would be overridden by " + a.Reason
	default:
		return a
	}
	a.Outcome, a.Would = Observed, a.Outcome
	return a
}
