// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// interruptFrequency is how many steps of comprehensions pass between two looks at the context, where a step takes less than a microsecond for each
// function in it.
const interruptFrequency = 64

// brief are the functions that take no longer the more they are given, or so little that it does not matter: two texts are compared at the speed of memory.
var brief = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.NotStrictlyFalse: true, operators.Conditional: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true,
	operators.Negate: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true,
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true,
	"hasValue": true, "value": true, "or": true, "orValue": true, "optional.of": true, "optional.none": true, "cel.@mapInsert": true,
}

// looks is how many steps of a comprehension pass between two looks at the context: one where a step calls a function that takes longer the more it is
// given, such as matches, so that nobody who has left is worked for longer than one call of it takes.
func looks(c ast.ComprehensionExpr) int {
	every := interruptFrequency
	for _, part := range []ast.Expr{c.LoopCondition(), c.LoopStep()} {
		ast.PreOrderVisit(part, ast.NewExprVisitor(func(e ast.Expr) {
			if e.Kind() == ast.CallKind && !isBrief(e.AsCall()) {
				every = 1
			}
		}))
	}
	return every
}

// isBrief says whether a call takes no longer the more it is given. What is compared with what stands in the expression is as short as that, and so is what
// is looked for in a list there; map and filter add to their lists one item at a time.
func isBrief(call ast.CallExpr) bool {
	written := func(kind ast.ExprKind) bool {
		return slices.ContainsFunc(call.Args(), func(e ast.Expr) bool { return e.Kind() == kind })
	}
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals:
		return written(ast.LiteralKind)
	case operators.In, operators.Add:
		return written(ast.ListKind)
	default:
		return brief[call.FunctionName()]
	}
}
