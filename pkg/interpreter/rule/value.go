// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"math"

	"github.com/google/cel-go/common/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// condition is a boolean expression, such as the condition of a rule.
type condition struct {
	at         spot
	expression *expression.Expression
}

// always reports whether there is no condition.
func (w condition) always() bool { return w.expression == nil }

// holds evaluates the condition. A missing one is true.
func (w condition) holds(q *question) (bool, error) {
	if w.expression == nil {
		return true, nil
	}
	holds, err := w.expression.Bool(q.ctx, q)
	if err != nil {
		return false, q.broken(w.at, err)
	}
	return holds, nil
}

// applies evaluates the condition of a rule, and records the result for a trace.
func (w condition) applies(q *question) (bool, error) {
	holds, err := w.holds(q)
	q.trace.saw(holds, err)
	return holds, err
}

// text is a string that may contain expressions.
type text struct {
	at       spot
	template *expression.Template
}

// evaluate evaluates the text, or returns "" if it is missing.
func (t text) evaluate(q *question) (string, error) {
	if t.template == nil {
		return "", nil
	}
	written, err := t.template.String(q.ctx, q)
	if err != nil {
		return "", q.broken(t.at, err)
	}
	return written, nil
}

// value is any value that may contain expressions.
type value struct {
	at   spot
	tree *expression.Tree
}

// evaluate evaluates the value to JSON. It returns nil if it is missing or null.
func (v value) evaluate(q *question) ([]byte, error) {
	if v.tree == nil {
		return nil, nil
	}
	raw, err := v.tree.JSON(q.ctx, q)
	if err != nil {
		return nil, q.broken(v.at, err)
	}
	if isNull(raw) {
		return nil, nil
	}
	return raw, nil
}

// number is a number of replicas.
type number struct {
	at       spot
	template *expression.Template
	fixed    int32
}

// evaluate evaluates the number. It fails if the result is negative, not whole, or too large.
func (n number) evaluate(q *question) (int32, error) {
	if n.template == nil {
		return n.fixed, nil
	}
	value, err := n.template.Evaluate(q.ctx, q)
	if err != nil {
		return 0, q.broken(n.at, err)
	}
	switch value.(type) {
	case types.Int, types.Uint, types.Double:
	default:
		return 0, unfit("%s: the result is %s, not a number", n.at, typeName(value))
	}
	whole := float64(value.ConvertToType(types.DoubleType).(types.Double))
	if whole != math.Trunc(whole) || whole < 0 || whole > math.MaxInt32 {
		return 0, unfit("%s: the result is not a whole number from 0 to %d", n.at, math.MaxInt32)
	}
	return int32(whole), nil
}
