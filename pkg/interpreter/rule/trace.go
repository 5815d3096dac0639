// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// Trace is how a question is answered, and what becomes of each rule on the way.
type Trace struct {
	// Rules are those of the operation for the kind, in their order; none where what is asked about cannot be read.
	Rules []Traced
	// Response is the answer, and Failure why there is none; nil where there is one.
	Response interpreter.Response
	Failure  *interpreter.Failure
}

// Outcome is what becomes of a rule.
type Outcome string

const (
	// Applied is a rule that has a part in the answer.
	Applied Outcome = "applied"
	// Unchanged is a rule that changes an object and found it so already.
	Unchanged Outcome = "unchanged"
	// Skipped is a rule whose condition is false, for each item where it has a forEach.
	Skipped Outcome = "skipped"
	// NotAsked is a rule behind the one that answers, or behind one that failed.
	NotAsked Outcome = "not asked"
	// Refused is a rule that refuses the object.
	Refused Outcome = "refused"
	// Failed is a rule that could not be evaluated, or does not fit the object.
	Failed Outcome = "failed"
)

// Traced is a rule and what becomes of it. The terms hold values of the object.
type Traced struct {
	// At is the rule as Because names it: the profile and the path in it.
	At string
	// Conditional says that it has a condition.
	Conditional bool
	Outcome     Outcome
	// When is the condition; nil for a rule without, for one with forEach, and where it was not asked.
	When *expression.Term
	// ForEach are the expressions of the list, and Items what the condition came to for each of its items, or for each that two objects have.
	ForEach []expression.Term
	Items   []TracedItem
	// Healthy is, of a rule of health that applies, what it says.
	Healthy *expression.Term
	// Writes are the places that a rule writes which applied, in its order.
	Writes []Written
	// Failure is why the rule failed, or that the object is refused.
	Failure *interpreter.Failure
}

// TracedItem is an item of a forEach. When is nil for a rule without a condition.
type TracedItem struct {
	Item ref.Val
	When *expression.Term
	// Holds says whether there is something for the item.
	Holds bool
}

// Trace answers a question as Interpret does, and says what becomes of each rule. The error is that of what cannot be explained, or of the context.
func (p *Program) Trace(ctx context.Context, r interpreter.Request) (*Trace, error) {
	t := &Trace{}
	response, err := p.Interpret(ctx, r)
	if err != nil && !errors.As(err, &t.Failure) {
		return nil, err
	}
	t.Response = response
	if !p.Supports(r.Kind, r.Operation) {
		return t, ctx.Err()
	}
	// It is not released: the terms refer to what was read.
	q, err := newQuestion(ctx, r)
	if err != nil {
		return t, ctx.Err()
	}
	first := r.Operation == interpreter.Replicas || r.Operation == interpreter.Health
	ended := false
	for _, rule := range p.of(r.Kind).traceable(r.Operation) {
		traced := Traced{At: rule.at, Conditional: !rule.when.always(), Outcome: NotAsked}
		if !ended {
			if err := rule.trace(q, &traced); err != nil {
				return nil, err
			}
		}
		ended = ended || traced.Failure != nil || first && traced.Outcome == Applied
		t.Rules = append(t.Rules, traced)
	}
	return t, ctx.Err()
}

// trace asks the rule. The error is of an expression that cannot be explained.
func (r *traceable) trace(q *question, into *Traced) error {
	var before []byte
	if r.edits {
		before = bytes.Clone(q.object.Patch())
	}
	into.Outcome = Skipped
	ask := r.ask
	switch {
	case r.items != nil:
		ask = r.askEach
	case r.pairs != nil:
		ask = r.askPairs
	}
	if err := ask(q, into); err != nil {
		return err
	}
	if into.Outcome == Applied && r.edits && bytes.Equal(before, q.object.Patch()) {
		into.Outcome = Unchanged
	}
	return nil
}

// ask asks a rule without a forEach.
func (r *traceable) ask(q *question, into *Traced) error {
	when, holds, err := r.when.explain(q)
	if into.When = when; err != nil {
		return into.failed(err)
	}
	if !holds {
		return nil
	}
	if into.Healthy, _, err = r.healthy.explain(q); err != nil {
		return into.failed(err)
	}
	into.Outcome = Applied
	var before []json.RawMessage
	if r.root != nil {
		before = standing(r.root(q), r.writes)
	}
	err = r.run(q)
	switch {
	case err == nil && r.root != nil:
		into.Writes = written(r.root(q), r.writes, before, -1)
		return nil
	case err == nil:
		return nil
	}
	err = into.failed(err)
	if r.refuses && into.Failure != nil && into.Failure.Code == interpreter.CodeUnfit {
		into.Outcome = Refused
	}
	return err
}

// askEach asks a rule with a forEach for each item.
func (r *traceable) askEach(q *question, into *Traced) error {
	list, err := r.items.list.Explain(q.ctx, q)
	if err != nil {
		return err
	}
	into.ForEach = list
	err = r.items.each(q, func() error {
		item := TracedItem{Item: q.item}
		var err error
		item.When, item.Holds, err = r.when.explain(q)
		into.Items = append(into.Items, item)
		if err != nil || !item.Holds {
			return err
		}
		into.Outcome = Applied
		return r.run(q)
	})
	if err != nil {
		return into.failed(err)
	}
	return nil
}

// askPairs asks a rule of the items that two objects have, for each of them.
func (r *traceable) askPairs(q *question, into *Traced) error {
	items, err := r.pairs.both.read(q)
	if err != nil {
		return into.failed(err)
	}
	now, observed := items.now, items.observed
	var held []string
	var before [][]json.RawMessage
	seen := map[string]bool{}
	for _, item := range items.came {
		key, ok := r.pairs.both.keyOf(item)
		if !ok || seen[key] || now[key] == nil || observed[key] == nil {
			continue
		}
		seen[key] = true
		q.item, q.kept = valueOf(item), valueOf(observed[key])
		when, holds, err := r.when.explain(q)
		into.Items = append(into.Items, TracedItem{q.item, when, holds})
		q.item, q.kept = nil, nil
		if err != nil {
			return into.failed(err)
		}
		held, before = append(held, key), append(before, standing(now[key], r.writes))
	}
	applied, err := r.pairs.applyEach(q)
	if applied {
		into.Outcome = Applied
	}
	if err != nil {
		return into.failed(err)
	}
	if now, err = r.pairs.both.of("the object", q.object.Root()); err != nil {
		return into.failed(err)
	}
	for i, key := range held {
		if into.Items[i].Holds {
			into.Writes = append(into.Writes, written(now[key], r.writes, before[i], i)...)
		}
	}
	return nil
}

// failed says that the rule could not be asked. What is no failure of the rule stays an error.
func (t *Traced) failed(err error) error {
	if !errors.As(err, &t.Failure) {
		return err
	}
	t.Outcome = Failed
	return nil
}

// explain says what the condition and its parts come to; nil where there is none, which holds.
func (w condition) explain(q *question) (term *expression.Term, holds bool, err error) {
	if w.always() {
		return nil, true, nil
	}
	explained, err := w.expression.Explain(q.ctx, q)
	if err != nil {
		return nil, false, err
	}
	holds, err = w.holds(q)
	return &explained, holds, err
}

// traceable is a rule as all operations have it.
type traceable struct {
	at      string
	when    condition
	items   *items
	pairs   *retain // a rule of the items that two objects have; nil for others
	healthy condition
	// writes are the places that it writes in root.
	writes []writing
	root   func(*question) *document.Node
	// run does what the rule does once its condition holds; edits says that it changes the object, and refuses that it refuses it.
	run            func(*question) error
	edits, refuses bool
}

// traceable are the rules of an operation.
func (r *rules) traceable(o interpreter.Operation) []traceable {
	switch o {
	case interpreter.Replicas:
		return traceables(r.replicas, func(s *replicas) traceable {
			return traceable{at: s.at, when: s.when, run: func(q *question) error {
				_, err := s.count.of(q)
				_, needed := s.requirements.of(q)
				return errors.Join(err, needed)
			}}
		})
	case interpreter.Components:
		return traceables(r.components, func(s *components) traceable {
			return traceable{at: s.at, when: s.when, items: s.items, run: func(q *question) error { _, err := s.of(q); return err }}
		})
	case interpreter.Dependencies:
		return traceables(r.dependencies, func(s *dependencies) traceable {
			return traceable{at: s.at, when: s.when, items: s.items, run: func(q *question) error { _, err := s.of(q); return err }}
		})
	case interpreter.Health:
		return traceables(r.health, func(s *health) traceable {
			return traceable{at: s.at, when: s.when, healthy: s.healthy, run: func(q *question) error { _, err := s.healthy.holds(q); return err }}
		})
	case interpreter.Status:
		return traceables(r.status, traceableStatus)
	default:
		return r.traceableEdits(o)
	}
}

// traceableEdits are the rules of an operation that changes objects.
func (r *rules) traceableEdits(o interpreter.Operation) []traceable {
	whole := func(q *question) *document.Node { return q.object.Root() }
	edits := func(all []edit) []traceable {
		return traceables(all, func(s *edit) traceable {
			return traceable{
				at: s.at, when: s.when, run: s.apply, edits: true, refuses: s.refuse.template != nil, root: whole, writes: writings("", s.paths()...),
			}
		})
	}
	switch o {
	case interpreter.Revise:
		return edits(r.revise)
	case interpreter.Prune:
		return edits(r.prune)
	case interpreter.Retain:
		return traceables(r.retain, func(s *retain) traceable {
			t := traceable{at: s.at, when: s.when, run: s.apply, edits: true, refuses: s.refuse.template != nil, root: whole}
			t.writes = writings("", s.paths()...)
			if s.both != nil { // the condition is one of each item
				t.pairs = s
			}
			return t
		})
	case interpreter.Aggregate:
		return traceables(r.aggregate, func(s *aggregate) traceable {
			return traceable{at: s.at, when: s.when, edits: true, root: whole, writes: writings("", s.field), run: func(q *question) error {
				raw, err := s.combine(q)
				if err != nil {
					return err
				}
				return s.field.put(q.object.Root(), raw)
			}}
		})
	default:
		return nil
	}
}

func traceables[R any](all []R, of func(*R) traceable) []traceable {
	made := make([]traceable, len(all))
	for i := range all {
		made[i] = of(&all[i])
	}
	return made
}

// Written is a place that a rule writes, and what stood there before and stands there now: JSON, and nil where nothing is. They are the same where the
// place was so already, and where there was nothing to keep or to take away.
type Written struct {
	// At is where the profile names the place, as the rule is called, and Path the place: in the object, or in the item.
	At, Path string
	// Item is which of the items of the trace it is in; -1: none.
	Item        int
	Before, Now json.RawMessage
}

// writing is a place that is written in one of the objects that a rule changes.
type writing struct {
	path
	// name is what the place is called.
	name string
}

// writings are the places of paths below another one, which is empty for the object itself.
func writings(below string, all ...path) []writing {
	named := make([]writing, len(all))
	for i, p := range all {
		name := p.text
		if below != "" {
			name = below + dotted(p)
		}
		named[i] = writing{p, name}
	}
	return named
}

// paths are those that a rule writes, in the order in which it does.
func (e *edit) paths() []path { return slices.Concat(pathsOf(e.set), e.remove) }

// paths are those that a rule keeps and writes, in the order in which it does.
func (r *retain) paths() []path { return slices.Concat(r.fields, r.edit.paths()) }

// paths are those that a rule copies and computes below the status; the zero path is all of it.
func (s *status) paths() []path {
	if s.all {
		return []path{{at: spot{name: s.at}}}
	}
	return slices.Concat(s.keep, pathsOf(s.set))
}

func pathsOf(set []setting) []path {
	all := make([]path, len(set))
	for i := range set {
		all[i] = set[i].path
	}
	return all
}

// standing is what stands at the places below a root.
func standing(root *document.Node, at []writing) []json.RawMessage {
	all := make([]json.RawMessage, len(at))
	for i := range at {
		if n := at[i].find(root); n != nil {
			all[i] = bytes.Clone(n.Raw())
		}
	}
	return all
}

// written compares what stood at the places with what stands there now.
func written(root *document.Node, at []writing, before []json.RawMessage, item int) []Written {
	all := make([]Written, len(at))
	for i, now := range standing(root, at) {
		all[i] = Written{At: at[i].at.name, Path: at[i].name, Item: item, Before: before[i], Now: now}
	}
	return all
}

// traceableStatus is a rule of a status, which is made of it alone.
func traceableStatus(s *status) traceable {
	var made *document.Node
	return traceable{
		at: s.at, when: s.when, writes: writings(string(interpreter.Status), s.paths()...),
		root: func(*question) *document.Node { return made },
		run: func(q *question) error {
			alone, err := q.object.Root().Parse([]byte("{}")) // in its memory
			if err != nil {
				return unreadable("the status", err)
			}
			made = alone.Root()
			return s.reflect(q, q.object.Root().Get("status"), made)
		},
	}
}
