// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// example is a condition that is written as conditions are.
const example = "a condition is one expression in braces, such as ${ request.node == \"worker-1\" }"

// condition compiles one; nil where there is none, or it is wrong. what names that which never applies when the condition is never true. What it
// does when the condition is always true is said where the condition is required; else it can be left out.
func (c *compiler) condition(env *expression.Environment, t source.Text, p place, what, does string) *expression.Expression {
	if t.At.Absent() {
		return nil
	}
	compiled, err := env.Condition(t.Value, expression.At(t.At))
	if err != nil {
		for _, finding := range source.FindingsOf(t.At, p.Path, err) {
			if finding.Rule == expression.WrongCondition {
				finding.Message = example
			}
			c.findings = append(c.findings, finding)
		}
		return nil
	}
	switch {
	case env.Partial().False(compiled):
		c.add(p, source.NeverApplies, "is always false: %s never applies", what)
	case compiled.Constant() && does != "":
		c.warn(p, source.AlwaysTrue, "is always true: %s %s", what, does)
	case compiled.Constant():
		c.findings = append(c.findings, p.FindingOf(source.AlwaysTrue, "is always true; leave it out").Warn().Without(t.At))
	}
	return compiled
}

// text compiles a text that may hold expressions; nil where it is wrong or missing.
func (c *compiler) text(env *expression.Environment, t source.Text, p place) *expression.Template {
	if t.At.Absent() {
		return nil
	}
	compiled, err := env.Template(t.Value, expression.At(t.At))
	if err != nil {
		c.findings = append(c.findings, source.FindingsOf(t.At, p.Path, err).Of(expression.FailingConstant)...)
		return nil
	}
	switch kind := compiled.Type().Kind(); kind {
	case types.ListKind, types.MapKind, types.NullTypeKind:
		c.add(p, expression.WrongResult, "must be a text, is a %s", compiled.Type().TypeName())
		return nil
	}
	return compiled
}

// holds says whether a condition applies; one that was not written does.
func holds(ctx context.Context, x *expression.Expression, vars interpreter.Activation) (bool, error) {
	if x == nil {
		return true, nil
	}
	return x.Bool(ctx, vars)
}
