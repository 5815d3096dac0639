// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// observe adds to the result of the rules that are enforced what the others would have done. They are tried on a copy of the
// object, together with those that are enforced, and whatever goes wrong there is told and denies nothing: neither a panic, nor the time
// that they take.
func (p *Program) observe(ctx context.Context, selected *selection, r Request, source facts.Source, result *Result) {
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

// tryAll tries all rules on a copy.
func (p *Program) tryAll(ctx context.Context, selected *selection, r Request, source facts.Source, result *Result) {
	r.Document = nil
	all, failure := p.enforce(ctx, selected, r, source, nil)
	if failure != nil {
		// Once more without what cannot be computed, to tell the rule that is to blame from the others.
		lenient := *selected
		lenient.how.rehearsed = true
		var again *Failure
		if all, again = p.enforce(ctx, &lenient, r, source, nil); again != nil {
			result.denyAll(selected, failure)
			return
		}
		all.Patch = nil
		for i := range all.Applied {
			if a := &all.Applied[i]; a.Reason == cannotCompute {
				a.Outcome, a.Would, a.Reason = Observed, Denied, wouldDeny+string(failure.Reason)
			}
		}
	}
	observed := map[string]bool{}
	for _, rule := range selected.rules {
		if rule.observed {
			observed[rule.profile+rule.position.String()] = true
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

// denyAll says of all rules that are only observed that the object would be denied, where nobody knows which is to blame.
func (r *Result) denyAll(selected *selection, failure *Failure) {
	for _, rule := range selected.rules {
		if rule.observed {
			r.Applied = append(r.Applied, Applied{
				Profile: rule.profile, Rule: rule.name, Position: rule.position, Outcome: Observed, Would: Denied, Reason: wouldDeny + string(failure.Reason),
			})
		}
	}
}

// observed is what is told of a rule that was tried on a copy.
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
