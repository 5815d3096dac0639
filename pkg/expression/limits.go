// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// ExceedsLimit reports whether a value or an evaluation was refused because it is too large or too costly.
func ExceedsLimit(err error) bool {
	return slices.ContainsFunc([]error{errTooLarge, errTooMuch, errTooCostly, errTooLong, errTooComplex}, func(limit error) bool {
		return errors.Is(err, limit)
	})
}

// large holds a token for each request that computes large values.
var large = make(chan struct{}, largeRequests)

// meter counts the size of values and the cost of the evaluations for one request. It is not safe for concurrent use.
type meter struct {
	size int
	cost uint64
	// queue is done when the request does not wait for a place for large requests any longer; nil: it needs none.
	queue context.Context
	// placed reports that the request has such a place.
	placed bool
}

type meterKey struct{}

// Limit returns a context with common limits on the size and cost of all its evaluations. The returned function ends
// the request. The context must not be used concurrently. Without Limit, each evaluation has its own limits.
func Limit(ctx context.Context) (limited context.Context, end func()) {
	if ctx.Value(meterKey{}) != nil {
		return ctx, func() {}
	}
	m := &meter{queue: ctx}
	return context.WithValue(ctx, meterKey{}, m), m.end
}

// meterOf returns the meter of the request that a context is for, or a new one.
func meterOf(ctx context.Context) *meter {
	if m, ok := ctx.Value(meterKey{}).(*meter); ok {
		return m
	}
	return new(meter)
}

// Charge counts the size of a value that a request creates outside of expressions. It fails if the limit is reached.
func Charge(ctx context.Context, size int) error {
	m := meterOf(ctx)
	err := m.reserve(size, maximumTogether)
	m.size += size
	return err
}

// reserve returns an error unless a value of this size may be made. It waits for a place if the request needs one.
func (m *meter) reserve(size, most int) error {
	switch {
	case size > most:
		return errTooLarge
	case m.size+size > maximumTogether:
		return errTooMuch
	case m.queue == nil || m.placed || m.size+size <= unqueued:
		return nil
	}
	select {
	case large <- struct{}{}:
		m.placed = true
		return nil
	case <-m.queue.Done():
		return m.queue.Err()
	}
}

// end gives the place back.
func (m *meter) end() {
	if m.placed {
		m.placed = false
		<-large
	}
}

// evaluation is the common state of the steps of one evaluation. Comprehensions ask it after each step whether to stop:
// when the context has ended or the cost is too high. It then answers so every time: CEL's own check does not, and an
// outer all() would continue after an inner one was stopped.
type evaluation struct {
	interpreter.Activation
	ctx     context.Context
	meter   *meter
	program *compiledExpression
	ended   bool
	cost    uint64
	// exceeded is the first exceeded limit. The expression then has no result.
	exceeded error
}

// evaluationName is the variable with the evaluation in the steps of an expression.
const evaluationName = "#evaluation"

// ResolveName implements interpreter.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case evaluationName:
		return e, true
	case "#interrupted":
		e.ended = e.ended || e.ctx.Err() != nil
		if err := e.spend(e.program.step); err != nil && e.exceeded == nil {
			e.exceeded = err
		}
		return e.exceeded != nil || e.ended, true
	default:
		return e.Activation.ResolveName(name)
	}
}

// spend counts a cost and returns an error if the evaluation, or all of the request, cost too much.
func (e *evaluation) spend(cost uint64) error {
	e.cost += cost
	if e.meter.cost += cost; e.cost > maximumActualCost || e.meter.cost > maximumCostTogether {
		return errTooCostly
	}
	return nil
}

// exceed ends the evaluation at a step.
func (e *evaluation) exceed(step interpreter.Interpretable, limit error) ref.Val {
	result := types.LabelErrNode(step.ID(), types.WrapErr(limit))
	if e.exceeded == nil {
		e.exceeded = result.(*types.Err)
	}
	return result
}

// evaluationOf returns the evaluation that a step is part of.
func evaluationOf(vars interpreter.Activation) *evaluation {
	if found, ok := vars.ResolveName(evaluationName); ok {
		return found.(*evaluation)
	}
	return &evaluation{meter: new(meter)} // when CEL computes constants
}

// sizeOf returns the size of a value with everything inside it. It stops soon after it has found more than most.
func sizeOf(value ref.Val, most int) int {
	switch v := value.(type) {
	case types.String:
		return itemSize + len(v)
	case types.Bytes:
		return itemSize + len(v)
	case *types.Optional:
		if v.HasValue() {
			return sizeOf(v.GetValue(), most)
		}
	case apiservercel.Semver:
		return itemSize * (1 + 2*len(v.Pre) + len(v.Build))
	case traits.Mapper:
		return sizeOfAll(v, v, most)
	case traits.Lister:
		return sizeOfAll(v, nil, most)
	}
	return itemSize
}

// sizeOfAll returns the size of a list, or of a map with its keys.
func sizeOfAll(items traits.Iterable, values traits.Mapper, most int) int {
	size := itemSize
	for it := items.Iterator(); size <= most && it.HasNext() == types.True; {
		item := it.Next()
		size += sizeOf(item, most-size)
		if values != nil {
			size += sizeOf(values.Get(item), most-size)
		}
	}
	return size
}
