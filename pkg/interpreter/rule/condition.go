// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"github.com/google/cel-go/common/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// example is how conditions are written.
const example = "a condition is one expression in braces, such as ${ has(object.spec.replicas) }"

// condition is the condition of a rule, or what else is true or false.
type condition struct {
	at         spot
	expression *expression.Expression
}

// always says that there is none.
func (w condition) always() bool { return w.expression == nil }

// holds says whether it is true; one that was not written is.
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

// when compiles the condition of a rule.
func (c *compiler) when(env *expression.Environment, p place, t source.Text) condition {
	p = p.At("when")
	compiled := c.condition(env, p, t)
	switch {
	case compiled == nil:
	case c.partial(env).False(compiled):
		c.add(p, source.NeverApplies, "is always false: the rule never applies")
	case compiled.Constant():
		c.findings = append(c.findings, p.FindingOf(source.AlwaysTrue, "is always true; leave it out").Warn().Without(t.At))
	}
	return condition{c.spot(p), compiled}
}

// condition compiles a condition.
func (c *compiler) condition(env *expression.Environment, p place, t source.Text) *expression.Expression {
	if t.At.Absent() {
		return nil
	}
	compiled, err := env.Condition(t.Value, expression.At(t.At))
	if err == nil {
		return compiled
	}
	for _, finding := range source.FindingsOf(t.At, p.Path, err) {
		if finding.Rule == expression.WrongCondition {
			finding.Message = example
		}
		c.findings = append(c.findings, finding)
	}
	return nil
}

// text is a text that may hold expressions.
type text struct {
	at       spot
	template *expression.Template
}

// of computes the text; empty where none was written.
func (t text) of(q *question) (string, error) {
	if t.template == nil {
		return "", nil
	}
	written, err := t.template.String(q.ctx, q)
	if err != nil {
		return "", q.broken(t.at, err)
	}
	return written, nil
}

// text compiles a text; that which is wrong or missing has no template.
func (c *compiler) text(env *expression.Environment, p place, t source.Text) text {
	if t.At.Absent() {
		return text{}
	}
	compiled, err := env.Template(t.Value, expression.At(t.At))
	if err != nil {
		c.addAll(source.FindingsOf(t.At, p.Path, err).Of(expression.FailingConstant))
		return text{}
	}
	switch compiled.Type().Kind() {
	case types.ListKind, types.MapKind, types.NullTypeKind, types.StructKind:
		c.add(p, expression.WrongResult, "must be a text, is a %s", compiled.Type().TypeName())
		return text{}
	}
	return text{c.spot(p), compiled}
}

// constant is the text of a template that always has the same.
func constant(t text, env *expression.Environment) (string, bool) {
	if t.template == nil || !t.template.Constant() {
		return "", false
	}
	value, ok := env.Partial().Value(t.template)
	if !ok {
		return "", false
	}
	text, err := expression.Text(value)
	return text, err == nil
}

// value is any value that may hold expressions.
type value struct {
	at   spot
	tree *expression.Tree
}

// of computes the value as JSON; nil where none was written, and for null.
func (v value) of(q *question) ([]byte, error) {
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

// value compiles a value; that which is wrong or missing has no tree.
func (c *compiler) value(env *expression.Environment, p place) value {
	if p.Missing {
		return value{}
	}
	tree, findings := expression.NewTree(env, p.Value(), p.Path)
	c.addAll(findings)
	if len(findings) > 0 {
		return value{}
	}
	return value{c.spot(p), tree}
}
