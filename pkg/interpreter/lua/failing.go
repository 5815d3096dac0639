// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// failing says whether a part may fail for an object that is as its kind has it.
func (w *writer) failing(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind, ast.IdentKind:
		return false
	case ast.SelectKind:
		s := e.AsSelect()
		_, constant := w.kindField(s)
		sure := constant || s.IsTestOnly() || w.optional(s.Operand()) || w.named(s.Operand(), memberType) && s.FieldName() != "status"
		return !sure || !constant && w.failing(s.Operand())
	case ast.ListKind:
		return slices.ContainsFunc(e.AsList().Elements(), w.failing)
	case ast.CallKind:
		return w.callFails(e.AsCall())
	default:
		return true
	}
}

func (w *writer) callFails(call ast.CallExpr) bool {
	arguments := call.Args()
	if call.IsMemberFunction() {
		arguments = append([]ast.Expr{call.Target()}, arguments...)
	}
	bools := func(e ast.Expr) bool { return !w.is(e, types.BoolKind) }
	numbers := func(e ast.Expr) bool { return !w.is(e, types.IntKind, types.UintKind, types.DoubleKind) }
	texts := func(e ast.Expr) bool { return !w.is(e, types.StringKind) }
	sure := false
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals, operators.OptSelect, operators.OptIndex, "orValue", "or", "hasValue":
		sure = true
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		sure = !slices.ContainsFunc(arguments, bools)
	case operators.Conditional:
		sure = !bools(arguments[0])
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		sure = !slices.ContainsFunc(arguments, numbers) || !slices.ContainsFunc(arguments, texts)
	case operators.In:
		sure = arguments[1].Kind() == ast.ListKind
	case "size":
		sure = w.is(arguments[0], types.ListKind, types.MapKind, types.StringKind)
	case "startsWith", "endsWith", "contains", "matches", "isSemver", "isQuantity":
		sure = !slices.ContainsFunc(arguments, texts)
	}
	return !sure || slices.ContainsFunc(arguments, w.failing)
}
