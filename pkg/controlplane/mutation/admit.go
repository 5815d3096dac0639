// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Admit takes an object all the way: it finds the rules, reads the facts they need, plans, applies and checks the result.
// The error is a *Failure, and then the object must not be admitted.
func (p *Program) Admit(ctx context.Context, r Request, source facts.Source) (*Result, error) {
	result, err := p.admit(ctx, r, source, nil)
	return result, asError(err)
}

// Trace is Admit with an observer that sees the object after each step.
func (p *Program) Trace(ctx context.Context, r Request, source facts.Source, observe Observer) (*Result, error) {
	result, err := p.admit(ctx, r, source, observe)
	return result, asError(err)
}

// asError keeps a nil failure from becoming an error that is not nil.
func asError(f *Failure) error {
	if f == nil {
		return nil
	}
	return f
}

func (p *Program) admit(ctx context.Context, r Request, source facts.Source, observe Observer) (*Result, *Failure) {
	selected, failure := p.selectRules(r)
	if selected == nil || failure != nil {
		return &Result{}, failure
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	result, failure := p.take(ctx, selected, r, source, observe)
	if failure != nil {
		failure.Target = selected.target.Subject()
	}
	return result, failure
}

// take takes an object along the way of a selection; rules that are only observed go along a way of their own.
func (p *Program) take(ctx context.Context, selected *selection, r Request, source facts.Source, observe Observer) (*Result, *Failure) {
	if selected.enforced == nil {
		return p.enforce(ctx, selected, r, source, observe)
	}
	if r.Object == nil {
		r.Object = r.Document.Original().Raw()
	}
	result := &Result{Target: selected.target.Subject()}
	if len(selected.enforced.rules) > 0 || selected.enforced.record != "" {
		var failure *Failure
		if result, failure = p.enforce(ctx, selected.enforced, r, source, observe); failure != nil {
			return nil, failure
		}
	}
	p.observe(ctx, selected, r, source, result)
	return result, nil
}

// enforce takes an object through all rules of a selection.
func (p *Program) enforce(ctx context.Context, selected *selection, r Request, source facts.Source, observe Observer) (*Result, *Failure) {
	object, failure := selected.read(r)
	if failure != nil {
		return nil, failure
	}
	result := &Result{Target: selected.target.Subject()}
	if object.BeingDeleted() {
		return result, nil
	}
	views, failure := selected.facts(ctx, p.generation, r, object, source)
	if failure != nil {
		return nil, failure
	}
	room := planRooms.Get().(*planRoom)
	defer room.leave()
	plan, err := selected.planIn(ctx, room, p.generation, object, views)
	if err != nil {
		return nil, asFailure(err)
	}
	if result.Applied, err = plan.apply(object, observe, selected.memoryOf(p)); err != nil {
		return nil, asFailure(err)
	}
	if err := object.Document.Err(); err != nil {
		return nil, fail(ObjectUnreadable, err, "%s", object.Form)
	}
	if err := selected.keep(object, plan); err != nil {
		return nil, applyFailure("what rules left behind", err)
	}
	if !object.Document.Changed() {
		return result, nil
	}
	if err := contract.Protect(object, p.generation, plan.exemption()); err != nil {
		return nil, applyFailure(object.Form.String(), err)
	}
	if err := selected.mark.write(object, observe); err != nil {
		return nil, applyFailure("the annotation of the mark", err)
	}
	result.Patch, result.Versions = object.Document.Patch(), selected.mark.value
	return result, nil
}

func asFailure(err error) *Failure {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return fail(Internal, err, "unexpected error")
}

// selectRules finds what is to be done with an object; nil when no rule is for it.
func (p *Program) selectRules(r Request) (*selection, *Failure) {
	forms, ok := p.scopes[scopeKey{set: r.Set, provider: r.Provider, garden: r.Garden}]
	if !ok {
		return nil, fail(NotLoaded, nil, "no profile for %s of provider %q is loaded", r.Set, r.Provider)
	}
	if named := forms[formKey{r.Group, r.Kind, r.Name}]; named != nil {
		return named, nil
	}
	if unnamed := forms[formKey{r.Group, r.Kind, ""}]; unnamed != nil || len(p.others) == 0 {
		return unnamed, nil
	}
	return longest(forms, r), nil
}

// read parses the object and checks that it is what the contract says.
func (s *selection) read(r Request) (*target.Object, *Failure) {
	parsed, err := scan(r.Document, r.Object)
	if err != nil {
		return nil, fail(ObjectUnreadable, err, "%s", s.form)
	}
	if parsed.Root().Kind() != document.Object {
		return nil, fail(ObjectUnreadable, nil, "%s is no object", s.form)
	}
	object := &target.Object{Target: s.target, Form: s.form, Document: parsed}
	if object.Old, err = scan(r.OldDocument, r.OldObject); err != nil {
		return nil, fail(ObjectUnreadable, err, "the old object of %s", s.form)
	}
	if len(s.rules) > 0 && s.form.Has(target.PodTemplate) && !s.target.Other && !object.BeingDeleted() {
		if _, err := object.OwnContainer(); err != nil {
			return nil, applyFailure("the object breaks the contract", err)
		}
	}
	return object, nil
}

// scan reads raw unless that has been done, or there is nothing to read.
func scan(scanned *document.Document, raw []byte) (*document.Document, error) {
	if scanned != nil || len(raw) == 0 {
		return scanned, nil
	}
	return document.Parse(raw)
}
