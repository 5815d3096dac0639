// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// failed is an expression that has no result on a sample.
type failed struct {
	// rule is the one that has it; nil for the name of an object that is looked up.
	rule *rule
	err  *expression.EvaluationError
	// scope is what it sees, and references are the variables that the part of the rule names in which it stands.
	scope      *scope
	references []string
}

// path is where it stands.
func (f failed) path() string {
	if f.rule == nil {
		return lookupsName
	}
	return f.rule.path
}

// failed are the rules that a plan leaves out because an expression has no result.
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

// unread is the name of an object that is looked up, for which nothing could be read.
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

// ofClouds are what a sample has otherwise than a control plane of the cloud that a profile is for, what only an installation knows,
// and what lookups find, which a sample has no more than a word of.
var ofClouds = []string{
	"shoot.infrastructureConfig", "shoot.controlPlaneConfig", "shoot.spec.provider", "shoot.workers", "pool.providerConfig",
	"seed.providerConfig", "seed.spec", "seed.labels", "seed.annotations", "cloudProfile", "namespaceObject", imagesName, lookupsName,
}

// unlike says whether the expression may fail only because a sample is none of the real control planes.
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

// innermost is the failure of which others follow: that of a variable of the profile is also one of those that name it.
func innermost(err *expression.EvaluationError) *expression.EvaluationError {
	for inner := new(expression.EvaluationError); errors.As(err.Unwrap(), &inner); {
		err = inner
	}
	return err
}

// mayMiss says whether the rule reads a lookup that may find nothing.
func (r *rule) mayMiss() bool {
	r.need()
	return slices.ContainsFunc(r.scope.lookups, func(l *lookup) bool {
		return l.request.Optional && r.reach.lookups[r.scope][l.request.Name]
	})
}
