// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"bytes"
	"context"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
)

// trial is a case.
type trial struct {
	asked

	profiles []string
	gardener bool
	optional []source.Text
	want     want
	// holds is the golden file; empty: none.
	holds string

	program *program
}

// requests returns the requests of the case. The profiles must be compiled.
func (tr *trial) requests() []interpreter.Request {
	operations := tr.operations
	if len(operations) == 0 {
		operations = slices.DeleteFunc(interpreter.Operations(), func(o interpreter.Operation) bool {
			return tr.lacks(o) != "" || o == interpreter.Aggregate && !tr.hasMembers || !tr.program.Supports(tr.kind(), o)
		})
	}
	requests := make([]interpreter.Request, len(operations))
	for i, o := range operations {
		requests[i] = tr.request(o)
	}
	return requests
}

// Run implements golden.Test.
func (tr *trial) Run(ctx context.Context) golden.Outcome {
	if tr.program.err != nil {
		return golden.Outcome{Err: tr.program.err}
	}
	outcome := golden.Outcome{Rules: slices.Clone(tr.program.rules)}
	var answers []answer
	for _, request := range tr.requests() {
		trace, err := tr.program.Trace(ctx, request)
		if err != nil {
			return golden.Outcome{Err: err}
		}
		tr.program.tally(outcome.Rules, trace)
		answers = append(answers, answer{request, trace})
		failures := tr.want.judge(request, trace.Response, failed(trace))
		for i := range failures {
			failures[i].By, failures[i].NotBy = tr.authors(trace)
		}
		outcome.Failures = append(outcome.Failures, failures...)
		if again := tr.again(ctx, request, trace); again != nil {
			outcome.Failures = append(outcome.Failures, *again)
		}
	}
	if len(answers) == 0 {
		outcome.Failures = append(outcome.Failures, golden.Failure{
			At: tr.want.at, Subject: tr.object.String(), Message: "no profile has a rule for " + tr.kind().String() + " that could be asked",
		})
	}
	if tr.holds == "" {
		return outcome
	}
	text, err := tr.program.write(answers)
	if err != nil {
		return golden.Outcome{Err: err}
	}
	g, err := golden.Hold(tr.holds, text)
	if err != nil {
		return golden.Outcome{Err: err}
	}
	outcome.Goldens = []golden.Golden{g}
	return outcome
}

// failed returns the failure of a trace as an error, or nil if there is an answer.
func failed(t *rule.Trace) error {
	if t.Failure == nil {
		return nil
	}
	return t.Failure
}

// authors returns the rules that contribute to the answer, and the skipped ones.
func (tr *trial) authors(t *rule.Trace) (by, not []string) {
	why := "another rule had decided"
	for i := range t.Rules {
		r := &t.Rules[i]
		place := tr.program.place(r.At)
		switch r.Outcome {
		case rule.Applied, rule.Unchanged:
			by = append(by, place)
		case rule.Refused, rule.Failed:
			by = append(by, place+": "+string(r.Outcome))
			why = "a rule before it " + string(r.Outcome)
		case rule.Skipped:
			not = append(not, place+": skipped, its condition is false")
			if !r.Missed {
				not[len(not)-1] = place + ": skipped, there is no item"
			}
		case rule.NotAsked:
			not = append(not, place+": not asked, as "+why)
		}
	}
	return by, not
}

// again holds that an object which was changed is left alone when the same is asked of it once more; else Karmada would write it again and again.
func (tr *trial) again(ctx context.Context, r interpreter.Request, t *rule.Trace) *golden.Failure {
	if t.Failure != nil || t.Response.Patch == nil || !r.Operation.Patches() {
		return nil
	}
	failure := &golden.Failure{At: tr.want.at, Subject: string(r.Operation)}
	object, err := interpret.Patched(r.Object, t.Response.Patch)
	if err != nil {
		failure.Message = err.Error()
		return failure
	}
	r.Object = object
	second, err := tr.program.Interpret(ctx, r)
	switch {
	case err != nil && ctx.Err() == nil:
		failure.Message = "is not answered when the same is asked of what it makes: " + reason(err)
	case err == nil && len(bytes.TrimSpace(second.Patch)) > 0:
		failure.Message = "changes the object once more when the same is asked of what it makes: " + string(second.Patch)
	default:
		return nil
	}
	return failure
}
