// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"slices"

	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// views are what the expressions of each profile see for one object: the facts, and the profile's own values.
type views []*view

func (v views) of(s *scope) operation.Variables {
	return v[slices.IndexFunc(v, func(v *view) bool { return v.scope == s })]
}

// view is one profile's; variables are computed when they are first named.
type view struct {
	parent  operation.Variables
	context context.Context
	scope   *scope
	facts   *facts.Facts
	pool    string
	lookups ref.Val
	// missing are the lookups that found nothing and say that their rules are to be left out.
	missing map[string]bool
	known   map[string]any
	// decided are the conditions that several rules have.
	decided map[string]bool
}

// holds evaluates the condition of a rule, once for all rules that have the same.
func (v *view) holds(ctx context.Context, r *rule) (bool, error) {
	if r.whenText == "" || v.scope.conditions[r.whenText] < 2 {
		return r.when.Bool(ctx, v)
	}
	if holds, ok := v.decided[r.whenText]; ok {
		return holds, nil
	}
	holds, err := r.when.Bool(ctx, v)
	if err != nil {
		return false, err
	}
	if v.decided == nil {
		v.decided = map[string]bool{}
	}
	v.decided[r.whenText] = holds
	return holds, nil
}

// missing says which lookup leaves out the rule because it found nothing; empty when none does.
func (v views) missing(r *rule) string {
	of := v.of(r.scope).(*view)
	if len(of.missing) == 0 {
		return ""
	}
	for _, l := range r.scope.lookups {
		if name := l.request.Name; of.missing[name] && r.reach.lookups[r.scope][name] {
			return "lookup " + name + " is missing"
		}
	}
	return ""
}

// ResolveName implements the CEL activation.
func (v *view) ResolveName(name string) (any, bool) {
	switch name {
	case parametersName:
		return v.scope.parameters, true
	case lookupsName:
		return v.lookups, v.lookups != nil
	case variablesName:
		return v.scope.varType.Value(v), true
	case imagesName:
		if v.scope.images == nil {
			return nil, false
		}
		return v.scope.images.value(v.facts, v.pool), true
	default:
		return v.parent.ResolveName(name)
	}
}

// Parent implements the CEL activation; ResolveName asks the parent itself.
func (v *view) Parent() operation.Variables { return nil }

// Field computes a variable once.
func (v *view) Field(name string) (any, bool) {
	declared, ok := v.scope.variableOf[name]
	if !ok {
		return nil, false
	}
	if value, ok := v.known[name]; ok {
		return value, true
	}
	value, err := declared.evaluate(v.context, v)
	if err != nil {
		value = err
	}
	if v.known == nil {
		v.known = make(map[string]any, len(v.scope.variables))
	}
	v.known[name] = value
	return value, true
}

// facts reads what the rules of the selection need and no more.
func (s *selection) facts(ctx context.Context, g contract.Generation, r Request, o *target.Object, source facts.Source) (views, *Failure) {
	needs := s.needsFor(g, o)
	found := noFacts
	if needs.cluster {
		var err error
		if found, err = readFacts(ctx, r.Namespace, o, source); err != nil {
			return nil, factsFailure(r.Namespace, err)
		}
	}
	if err := needs.decode(found); err != nil {
		return nil, factsFailure(r.Namespace, err)
	}
	var object facts.Object
	if needs.object {
		object = describe(ctx, o, r)
	}
	base := found.Activation(object, r.Operation)
	result := make(views, len(needs.scopes))
	for i, scope := range needs.scopes {
		result[i] = &view{parent: base, context: ctx, scope: scope, facts: found, pool: object.Labels[facts.LabelWorkerPool]}
		if failure := result[i].look(ctx, r.Namespace, s.wanted(ctx, o, result[i], needs.lookups[scope]), source); failure != nil {
			return nil, failure
		}
	}
	return result, nil
}

// noFacts is what is known of a control plane that no rule asks for.
var noFacts = &facts.Facts{}

// look makes the named lookups; one that is not named is not made.
func (v *view) look(ctx context.Context, namespace string, named map[string]bool, source facts.Source) *Failure {
	if len(named) == 0 {
		return nil
	}
	found := make(map[string]*facts.Found, len(named))
	for _, l := range v.scope.lookups {
		if !named[l.request.Name] {
			continue
		}
		values, failure := l.read(ctx, namespace, v, source)
		switch {
		case failure == nil:
			found[l.request.Name] = values
		case failure.Reason == LookupMissing && l.skip:
			if v.missing == nil {
				v.missing = map[string]bool{}
			}
			v.missing[l.request.Name] = true
		default:
			return failure
		}
	}
	v.lookups = v.scope.lookupsType.Value(found)
	return nil
}

func factsFailure(namespace string, err error) *Failure {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fail(DeadlineExceeded, err, "reading the facts of namespace %s", namespace)
	case errors.Is(err, facts.ErrNotFound):
		return fail(ClusterMissing, err, "reading the facts of namespace %s", namespace)
	case errors.Is(err, facts.ErrUndecodable):
		return fail(ClusterUndecodable, err, "reading the facts of namespace %s", namespace)
	default:
		return fail(FactsUnavailable, err, "reading the facts of namespace %s", namespace)
	}
}

// describe is the object as expressions see it.
func describe(ctx context.Context, o *target.Object, r Request) facts.Object {
	metadata := o.Document.Original().Get("metadata")
	return facts.Object{
		APIVersion: text(o.Document.Original().Get("apiVersion")), Kind: o.Form.Kind, Name: r.Name, Namespace: r.Namespace,
		Labels: texts(metadata.Get("labels")), Annotations: texts(metadata.Get("annotations")),
		Raw: func() any {
			if err := expression.Charge(ctx, len(o.Document.Original().Raw())); err != nil {
				return err
			}
			return o.Document.Original().Value()
		},
	}
}

func text(n *document.Node) string {
	s, _ := n.Text()
	return s
}

func texts(n *document.Node) map[string]string {
	result := map[string]string{}
	for key, value := range n.Members() {
		result[key] = text(value)
	}
	return result
}
