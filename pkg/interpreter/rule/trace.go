// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/google/cel-go/common/types/ref"

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
