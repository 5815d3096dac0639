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

// Trace explains the answer to a question by the outcome of each rule.
type Trace struct {
	// Rules are the rules of the operation for the kind, in order. It is empty if the object cannot be read.
	Rules []Traced
	// Response is the answer. Failure is the reason if there is none, otherwise nil.
	Response interpreter.Response
	Failure  *interpreter.Failure
}

// Outcome is the effect of a rule.
type Outcome string

const (
	// Applied is a rule that contributed to the answer.
	Applied Outcome = "applied"
	// Unchanged is a rule that wrote the values that the object had already.
	Unchanged Outcome = "unchanged"
	// Skipped is a rule whose condition is false, with forEach for each item.
	Skipped Outcome = "skipped"
	// NotAsked is a rule after the one that answered or failed.
	NotAsked Outcome = "not asked"
	// Refused is a rule that refused the object.
	Refused Outcome = "refused"
	// Failed is a rule that could not be evaluated or applied.
	Failed Outcome = "failed"
)

// Traced is a rule with its outcome. The terms contain values of the object.
type Traced struct {
	// At is the rule as in Because: profile and path.
	At string
	// Conditional reports whether the rule has a condition.
	Conditional bool
	Outcome     Outcome
	// When is the condition. It is nil for a rule without one, for a rule with forEach, and if it was not
	// evaluated.
	When *expression.Term
	// ForEach has the expressions of the list. Items has the results of the condition for each item, or for
	// each pair of items.
	ForEach []expression.Term
	Items   []TracedItem
	// Healthy is the result of a health rule that applied.
	Healthy *expression.Term
	// Writes are the writes of a rule that applied, in order.
	Writes []Written
	// Failure is the reason of a failed or refusing rule.
	Failure *interpreter.Failure
}

// TracedItem is an item of a forEach. When is nil for a rule without a condition.
type TracedItem struct {
	Item ref.Val
	When *expression.Term
	// Holds reports whether the rule applied to the item.
	Holds bool
}

// Trace answers a question as Interpret does and returns the outcome of each rule. It fails if an expression
// cannot be explained, or the context ends.
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
	// The question is not released, because the terms refer to it.
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

// trace evaluates the rule. It fails if an expression cannot be explained.
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

// ask evaluates a rule without forEach.
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

// askEach evaluates a rule with forEach for each item.
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

// askPairs evaluates a rule for each pair of items of two objects.
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

// failed records a failure of the rule. It returns other errors.
func (t *Traced) failed(err error) error {
	if !errors.As(err, &t.Failure) {
		return err
	}
	t.Outcome = Failed
	return nil
}

// explain evaluates the condition and its parts. Without a condition, term is nil and holds is true.
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

// traceable is the common form of the rules of all operations.
type traceable struct {
	at      string
	when    condition
	items   *items
	pairs   *retain // set for a rule on pairs of items
	healthy condition
	// writes are the paths that the rule writes below root.
	writes []writing
	root   func(*question) *document.Node
	// run applies the rule after its condition held. edits is true for a rule that changes the object, refuses
	// for one that refuses it.
	run            func(*question) error
	edits, refuses bool
}

// traceable returns the rules of an operation.
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

// traceableEdits returns the rules of an operation that changes objects.
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
			if s.both != nil { // the condition is evaluated for each item
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

// Written is a path that a rule wrote, with the values before and after in JSON, nil if absent. They are equal
// if the value was there already, or if there was nothing to keep or remove.
type Written struct {
	// At is the place in the profile, in the notation of Traced.At. Path is the path in the object, or in the
	// item.
	At, Path string
	// Item is the index of the trace's item, or -1.
	Item        int
	Before, Now json.RawMessage
}

// writing is a path below one of the objects that a rule changes.
type writing struct {
	path
	// name is the full path for display.
	name string
}

// writings returns paths below another one, which is empty for the object itself.
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

// paths returns the paths that a rule writes, in order.
func (e *edit) paths() []path { return slices.Concat(pathsOf(e.set), e.remove) }

// paths returns the paths that a rule keeps and writes, in order.
func (r *retain) paths() []path { return slices.Concat(r.fields, r.edit.paths()) }

// paths returns the paths that a rule copies and computes below status. The zero path means the whole status.
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

// standing returns the values at the paths.
func standing(root *document.Node, at []writing) []json.RawMessage {
	all := make([]json.RawMessage, len(at))
	for i := range at {
		if n := at[i].find(root); n != nil {
			all[i] = bytes.Clone(n.Raw())
		}
	}
	return all
}

// written compares the values at the paths with those before.
func written(root *document.Node, at []writing, before []json.RawMessage, item int) []Written {
	all := make([]Written, len(at))
	for i, now := range standing(root, at) {
		all[i] = Written{At: at[i].at.name, Path: at[i].name, Item: item, Before: before[i], Now: now}
	}
	return all
}

// traceableStatus returns a status rule, evaluated on its own.
func traceableStatus(s *status) traceable {
	var made *document.Node
	return traceable{
		at: s.at, when: s.when, writes: writings(string(interpreter.Status), s.paths()...),
		root: func(*question) *document.Node { return made },
		run: func(q *question) error {
			alone, err := q.object.Root().Parse([]byte("{}")) // allocated in the object's memory
			if err != nil {
				return unreadable("the status", err)
			}
			made = alone.Root()
			return s.reflect(q, q.object.Root().Get("status"), made)
		},
	}
}
