// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

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
	// failed are expressions that have no result, by the rules that were left out for that.
	failed []failed
	broken error
}

type denial struct {
	rule *rule
	err  *Failure
}

// subject is the object for messages.
func (s scene) subject() string { return s.selected.target.Subject() }

// alone is the scene with one rule only.
func (s scene) alone(r *rule) scene { return s.with([]*rule{r.origin()}) }

// with is the scene with these rules only.
func (s scene) with(rules []*rule) scene {
	only := &selection{target: s.selected.target, form: s.selected.form, rules: rules}
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

// origin is the rule as it was compiled, of which a member of a family is a copy.
func (r *rule) origin() *rule {
	if r.whole != nil {
		return r.whole
	}
	return r
}
