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

// function is an operator or a function.
func (w *writer) function(e ast.Expr) code {
	call := e.AsCall()
	arguments := call.Args()
	if call.IsMemberFunction() {
		arguments = append([]ast.Expr{call.Target()}, arguments...)
	}
	for _, family := range []func(ast.Expr, string, []ast.Expr) (code, bool){
		w.logic, w.comparison, w.arithmetic, w.optionals, w.conversion, w.quantity, w.semver, w.textFunction,
	} {
		if written, ok := family(e, call.FunctionName(), arguments); ok {
			return written
		}
	}
	return w.refuse("the function %s", call.FunctionName())
}

// logic are the operators of conditions.
func (w *writer) logic(e ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch name {
	case operators.LogicalAnd:
		return w.junction(e, name, "and", rankAnd, "all_of"), true
	case operators.LogicalOr:
		return w.junction(e, name, "or", rankOr, "any_of"), true
	case operators.LogicalNot:
		return code{"not " + w.condition(arguments[0]).within(rankUnary), rankUnary}, true
	case operators.Conditional:
		return w.conditional(arguments), true
	}
	return code{}, false
}

// junction is a chain of conditions. Where one that fails is followed by another, that one may still decide.
func (w *writer) junction(e ast.Expr, name, operator string, rank int, absorbing string) code {
	parts := operands(e, name)
	sure := 0
	for sure < len(parts)-1 && w.is(parts[sure], types.BoolKind) && !w.failing(parts[sure]) {
		sure++
	}
	var written []code
	for _, part := range parts[:sure] {
		written = append(written, w.condition(part))
	}
	if sure == len(parts)-1 {
		return chain(operator, rank, append(written, w.condition(parts[sure])))
	}
	var closures []string
	for _, part := range parts[sure:] {
		closures = append(closures, closure(w.write(part)))
	}
	return chain(operator, rank, append(written, w.call(absorbing, closures...)))
}

// operands are those of a chain of one operator, which CEL makes a tree of.
func operands(e ast.Expr, name string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != name {
		return []ast.Expr{e}
	}
	return append(operands(e.AsCall().Args()[0], name), operands(e.AsCall().Args()[1], name)...)
}

// conditional is a choice of two values.
func (w *writer) conditional(arguments []ast.Expr) code {
	condition, yes, no := w.condition(arguments[0]), w.write(arguments[1]), w.write(arguments[2])
	if w.truthy(arguments[1]) {
		return chain("or", rankOr, []code{chain("and", rankAnd, []code{condition, yes}), no})
	}
	return w.call("pick", condition.text, closure(yes), closure(no))
}

// truthy says that Lua takes all values of a part for true.
func (w *writer) truthy(e ast.Expr) bool {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "dyn" {
		return w.truthy(e.AsCall().Args()[0])
	}
	return !w.is(e, types.BoolKind, types.DynKind, types.AnyKind, types.ErrorKind)
}

// comparison are the operators that compare.
func (w *writer) comparison(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	operator, ok := map[string]string{
		operators.Equals: "==", operators.NotEquals: "~=", operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">",
		operators.GreaterEquals: ">=",
	}[name]
	switch {
	case name == operators.In:
		return w.call("is_in", w.text(arguments[0]), w.text(arguments[1])), true
	case !ok:
		return code{}, false
	}
	a, b := arguments[0], arguments[1]
	same := name == operators.Equals || name == operators.NotEquals
	if compare := w.compares(a, b); compare != "" {
		return compared(w.call(compare, w.text(a), w.text(b)), operator, atom("0")), true
	}
	numbers := w.is(a, types.IntKind, types.UintKind, types.DoubleKind) && w.is(b, types.IntKind, types.UintKind, types.DoubleKind)
	switch {
	case same && (w.scalar(a) || w.scalar(b)), numbers, w.is(a, types.StringKind) && w.is(b, types.StringKind):
		return compared(w.write(a), operator, w.write(b)), true
	case name == operators.Equals:
		return w.call("equal", w.text(a), w.text(b)), true
	case name == operators.NotEquals:
		return code{"not " + w.call("equal", w.text(a), w.text(b)).text, rankUnary}, true
	}
	return compared(w.call("compare", w.text(a), w.text(b)), operator, atom("0")), true
}

// compares is the function that compares two values of a type that Lua does not know.
func (w *writer) compares(a, b ast.Expr) string {
	for name, function := range map[string]string{
		types.TimestampType.TypeName(): "compare_times", quantityType: "compare_quantities", semverType: "compare_versions",
	} {
		if w.named(a, name) && w.named(b, name) {
			return function
		}
	}
	if w.is(a, types.DurationKind) || w.is(b, types.DurationKind) || w.is(a, types.TimestampKind) || w.is(b, types.TimestampKind) {
		w.refuse("a comparison of %s with %s", w.typed(a).TypeName(), w.typed(b).TypeName())
	}
	return ""
}

// arithmetic are the operators that compute.
func (w *writer) arithmetic(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	function, ok := map[string]string{
		operators.Add: "add", operators.Subtract: "sub", operators.Multiply: "mul", operators.Divide: "div", operators.Modulo: "mod",
	}[name]
	if name == operators.Negate {
		return w.call("minus", w.text(arguments[0])), true
	}
	if !ok {
		return code{}, false
	}
	a, b := arguments[0], arguments[1]
	all := func(kind types.Kind) bool { return w.is(a, kind) && w.is(b, kind) }
	some := func(kind types.Kind) bool { return w.is(a, kind) || w.is(b, kind) }
	switch {
	case some(types.TimestampKind), some(types.DurationKind):
		return w.refuse("computing with times"), true
	case some(types.BytesKind):
		return w.refuse("computing with bytes"), true
	case all(types.StringKind):
		return chain("..", rankConcat, []code{w.write(a), w.write(b)}), true
	case all(types.ListKind):
		return w.call("concat", w.text(a), w.text(b)), true
	case all(types.DoubleKind) && name != operators.Modulo:
		operator := map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/"}[function]
		return code{w.write(a).within(rankAtom) + " " + operator + " " + w.write(b).within(rankAtom), rankSum}, true
	case some(types.DoubleKind):
		return w.refuse("computing with a double and with what may be none: Lua does not tell 1 from 1.0"), true
	case some(types.UintKind):
		return w.call("unsigned", w.call(function, w.text(a), w.text(b)).text), true
	}
	return w.call(function, w.text(a), w.text(b)), true
}

// optionals are what is done with values that may be absent.
func (w *writer) optionals(e ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch name {
	case operators.OptSelect, operators.OptIndex:
		return w.found("find", e), true
	case operators.Index:
		switch {
		case w.optional(arguments[0]):
			return w.found("find", e), true
		case arguments[1].Kind() == ast.LiteralKind:
			return w.found("at", e), true
		}
		return w.call("index", w.text(arguments[0]), w.text(arguments[1])), true
	case "orValue":
		return w.orValue(arguments[0], arguments[1]), true
	case "or":
		return w.call("or_else", w.text(arguments[0]), closure(w.write(arguments[1]))), true
	case "hasValue":
		if invalid, ok := w.invalid(arguments[0]); ok {
			return invalid, true
		}
		return compared(w.write(arguments[0]), "~=", atom(w.use("none"))), true
	case "value":
		return w.call("present", w.text(arguments[0])), true
	case "optional.of":
		return w.write(arguments[0]), true
	case "optional.none":
		return atom(w.use("none")), true
	case "optional.ofNonZeroValue":
		return w.call("non_zero", w.text(arguments[0])), true
	}
	return code{}, false
}

// orValue is a value that may be absent, or a default.
func (w *writer) orValue(e, otherwise ast.Expr) code {
	base, keys := w.way(e, true)
	if len(keys) == 0 || !fixed(otherwise) {
		return w.call("or_else", w.text(e), closure(w.write(otherwise)))
	}
	return w.call("get", append([]string{w.text(otherwise), w.text(base)}, keys...)...)
}

// fixed says that a part is computed without a look at an object.
func fixed(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind, ast.IdentKind:
		return true
	case ast.ListKind:
		return !slices.ContainsFunc(e.AsList().Elements(), func(item ast.Expr) bool { return !fixed(item) })
	default:
		return e.Kind() == ast.MapKind && e.AsMap().Size() == 0
	}
}
