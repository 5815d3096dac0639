// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// comprehension is what CEL makes of a macro. Which it was is told by what it begins with, and by the step.
func (w *writer) comprehension(e ast.Expr) code {
	c := e.AsComprehension()
	if c.HasIterVar2() {
		return w.refuse("macros with two variables")
	}
	inner, name := w.bind(c.IterVar())
	switch init := c.AccuInit(); {
	case isLiteral(c.LoopCondition(), types.False):
		return w.bound1(c)
	case isLiteral(init, types.True) && isCall(c.LoopStep(), operators.LogicalAnd):
		return w.each("all", c, inner, name, c.LoopStep().AsCall().Args()[1], false)
	case isLiteral(init, types.False) && isCall(c.LoopStep(), operators.LogicalOr):
		return w.each("exists", c, inner, name, c.LoopStep().AsCall().Args()[1], false)
	case isLiteral(init, types.Int(0)) && isCall(c.LoopStep(), operators.Conditional):
		return w.each("exists_one", c, inner, name, c.LoopStep().AsCall().Args()[0], false)
	case init.Kind() == ast.ListKind && isCall(c.LoopStep(), operators.Conditional):
		return w.filtered(c, inner, name)
	case init.Kind() == ast.ListKind && isCall(c.LoopStep(), operators.Add):
		return w.each("map", c, inner, name, added(c.LoopStep()), true)
	}
	return w.refuse("this macro")
}

// each is a function of the runtime over all items.
func (w *writer) each(function string, c ast.ComprehensionExpr, inner *writer, name string, of ast.Expr, anything bool) code {
	if anything && inner.optional(of) {
		return w.refuse("a list of values that may be absent, made by map")
	}
	return w.call(function, w.text(c.IterRange()), closure(inner.write(of), name))
}

// filtered is filter, or map with a condition.
func (w *writer) filtered(c ast.ComprehensionExpr, inner *writer, name string) code {
	step := c.LoopStep().AsCall().Args()
	kept := w.call("filter", w.text(c.IterRange()), closure(inner.write(step[0]), name))
	made := added(step[1])
	if made.Kind() == ast.IdentKind && made.AsIdent() == c.IterVar() {
		return kept
	}
	return w.call("map", kept.text, closure(inner.write(made), name))
}

// added is what a step puts behind a list.
func added(step ast.Expr) ast.Expr { return step.AsCall().Args()[1].AsList().Elements()[0] }

// bound1 is a variable with a value, as optMap and optFlatMap make it.
func (w *writer) bound1(c ast.ComprehensionExpr) code {
	inner, name := w.bind(c.AccuVar())
	return atom("(" + closure(inner.write(c.Result()), name) + ")(" + w.text(c.AccuInit()) + ")")
}

func isLiteral(e ast.Expr, value any) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == value
}

func isCall(e ast.Expr, name string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == name
}
