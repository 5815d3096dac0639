// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"context"
	"errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// Trace is the answer to a question with the outcome of each rule.
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

// Traced is a rule with its outcome.
type Traced struct {
	// At is the rule as in Because: profile and path.
	At      string
	Outcome Outcome
	// Held and Missed report whether the condition was true and false; with forEach, it may be both. Neither is
	// set if there was no item, and for a rule that was not asked. A missing condition is true.
	Held, Missed bool
	// Failure is the reason of a failed or refusing rule.
	Failure *interpreter.Failure
}

// Trace answers a question as Interpret does and returns the outcome of each rule. It fails if the context ends.
func (p *Program) Trace(ctx context.Context, r interpreter.Request) (*Trace, error) {
	t := &tracer{all: p.rulesOf(r.Kind, r.Operation), current: -1, patches: r.Operation.Patches()}
	result := &Trace{}
	var err error
	if result.Response, err = p.interpret(ctx, r, t); err != nil && !errors.As(err, &result.Failure) {
		return nil, err
	}
	result.Rules = t.rules
	return result, ctx.Err()
}

// tracer records the outcomes of rules while a question is answered. A nil tracer records nothing.
type tracer struct {
	all     []compiledRule
	patches bool
	rules   []Traced
	// current is the index of the rule that is evaluated, or -1.
	current int
	// broken is true if its condition could not be evaluated. before is the patch before it was applied.
	broken bool
	before []byte
}

// begin records that the rule with an index is evaluated next.
func (t *tracer) begin(q *question, index int) {
	if t == nil {
		return
	}
	t.end(q, nil)
	if t.rules == nil {
		for _, h := range t.all {
			t.rules = append(t.rules, Traced{At: h.at, Outcome: NotAsked})
		}
	}
	t.current, t.broken = index, false
	if t.patches {
		t.before = bytes.Clone(q.object.Patch())
	}
}

// saw records the result of the current rule's condition.
func (t *tracer) saw(holds bool, err error) {
	if t == nil || t.current < 0 {
		return
	}
	r := &t.rules[t.current]
	t.broken = t.broken || err != nil
	r.Held, r.Missed = r.Held || err == nil && holds, r.Missed || err == nil && !holds
}

// end records the outcome of the current rule. A rule whose condition was only false is not the cause of an error.
func (t *tracer) end(q *question, err error) {
	if t == nil || t.current < 0 {
		return
	}
	r, h := &t.rules[t.current], t.all[t.current]
	t.current = -1
	switch {
	case err != nil && (t.broken || r.Held || !r.Missed):
		r.Outcome = Failed
		if errors.As(err, &r.Failure) && h.refuses && r.Held && r.Failure.Code == interpreter.CodeUnfit {
			r.Outcome = Refused
		}
	case !r.Held:
		r.Outcome = Skipped
	case t.patches && bytes.Equal(t.before, q.object.Patch()):
		r.Outcome = Unchanged
	default:
		r.Outcome = Applied
	}
}
