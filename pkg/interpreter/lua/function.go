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

// function translates an operator or a function.
func (w *writer) function(e ast.Expr) code {
	call := e.AsCall()
	arguments, name := argumentsOf(call), call.FunctionName()
	switch name {
	case operators.LogicalAnd:
		return w.junction(e, name, "and", rankAnd, "all")
	case operators.LogicalOr:
		return w.junction(e, name, "or", rankOr, "exists")
	case operators.LogicalNot:
		return code{"not " + w.condition(arguments[0]).within(rankUnary), rankUnary}
	case operators.Conditional:
		return w.conditional(arguments)
	}
	if function, ok := sameArgument[name]; ok {
		return w.call(function, w.text(arguments[0]))
	}
	for _, family := range []func(ast.Expr, string, []ast.Expr) (code, bool){
		w.comparison, w.arithmetic, w.optionals, w.conversion, w.quantity, w.semver, w.textFunction,
	} {
		if written, ok := family(e, name, arguments); ok {
			return written
		}
	}
	return w.refuse("the function %s", name)
}

// sameArgument maps the functions that take one argument of any type to runtime functions.
var sameArgument = map[string]string{
	operators.Negate: "minus", "value": "present", "optional.ofNonZeroValue": "non_zero", "quantity": "quantity_sum", "isQuantity": "is_quantity",
}

// junction translates a chain of conditions. Parts that cannot fail come first; a part after one that fails may decide.
func (w *writer) junction(e ast.Expr, name, operator string, rank int, absorbing string) code {
	var sure, unsure []code
	before := w.known
	for _, part := range operands(e, name) {
		fails, written := !w.is(part, types.BoolKind) || w.fails(part), w.condition(part)
		if fails {
			unsure = append(unsure, written)
			continue
		}
		sure = append(sure, written)
		if name == operators.LogicalAnd {
			w.known = append(slices.Clip(w.known), w.guarded(part)...)
		}
	}
	if e == w.ast.Expr() {
		w.held = w.known
	}
	w.known = before
	if len(unsure) < 2 {
		return chain(operator, rank, append(sure, unsure...))
	}
	var closures []string
	for _, part := range unsure {
		closures = append(closures, closure(part))
	}
	return chain(operator, rank, append(sure, w.call(absorbing, table(closures).text)))
}

// operands returns the operands of a chain of one operator. CEL represents it as a tree.
func operands(e ast.Expr, name string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != name {
		return []ast.Expr{e}
	}
	return append(operands(e.AsCall().Args()[0], name), operands(e.AsCall().Args()[1], name)...)
}

// conditional translates the ternary operator.
func (w *writer) conditional(arguments []ast.Expr) code {
	condition, yes, no := w.condition(arguments[0]), w.write(arguments[1]), w.write(arguments[2])
	if w.truthy(arguments[1]) {
		return chain("or", rankOr, []code{chain("and", rankAnd, []code{condition, yes}), no})
	}
	return w.call("pick", condition.text, closure(yes), closure(no))
}

// truthy reports whether Lua treats all values of a part as true.
func (w *writer) truthy(e ast.Expr) bool {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "dyn" {
		return w.truthy(e.AsCall().Args()[0])
	}
	return !w.is(e, types.BoolKind, types.DynKind, types.AnyKind, types.ErrorKind)
}

// comparison translates comparison operators.
func (w *writer) comparison(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	operator, ok := map[string]string{
		operators.Equals: "==", operators.NotEquals: "~=", operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">",
		operators.GreaterEquals: ">=",
	}[name]
	switch {
	case name == operators.In:
		if fields := choices(arguments[1]); len(fields) > 0 {
			return compared(atom("("+table(fields).text+")["+w.text(arguments[0])+"]"), "~=", atom("nil")), true
		}
		function := "is_in"
		if w.scalar(arguments[0]) {
			function = "holds_item"
		}
		return w.call(function, w.text(arguments[0]), w.text(arguments[1])), true
	case !ok:
		return code{}, false
	}
	a, b := arguments[0], arguments[1]
	same := name == operators.Equals || name == operators.NotEquals
	if tested, ok := w.absent(a, b); ok && same {
		return compared(tested, operator, atom("nil")), true
	}
	if compare := w.compares(a, b); compare != "" {
		return compared(w.call(compare, w.text(a), w.text(b)), operator, atom("0")), true
	}
	switch {
	case same && (w.scalar(a) || w.scalar(b)):
		return compared(w.write(a), operator, w.write(b)), true
	case name == operators.Equals:
		return w.call("equal", w.text(a), w.text(b)), true
	case name == operators.NotEquals:
		return code{"not " + w.call("equal", w.text(a), w.text(b)).text, rankUnary}, true
	}
	return w.order(a, operator, b), true
}

// order translates a comparison of two numbers, strings or booleans. Lua fails for other types, and for booleans.
func (w *writer) order(a ast.Expr, operator string, b ast.Expr) code {
	if w.is(a, types.BoolKind) || w.is(b, types.BoolKind) {
		return compared(w.call("compare", w.text(a), w.text(b)), operator, atom("0"))
	}
	return compared(w.write(a), operator, w.write(b))
}

// textOf translates a part that must be a string. The script checks its type unless it is known.
func (w *writer) textOf(e ast.Expr) code {
	if w.is(e, types.StringKind) {
		return w.write(e)
	}
	return w.call("string_in", w.text(e))
}

// absent translates one side of a comparison of a field with null if the field is null by default. Fields of
// Karmada's objects are never null, so that the field is compared with nil.
func (w *writer) absent(e, null ast.Expr) (code, bool) {
	if !isLiteral(null, types.NullValue) || !isCall(e, "orValue") || !isLiteral(e.AsCall().Args()[0], types.NullValue) {
		return code{}, false
	}
	base, keys := w.chainOf(e.AsCall().Target(), true)
	if base.Kind() != ast.IdentKind || len(keys) == 0 || !slices.Contains([]string{"object", "observed"}, base.AsIdent()) || w.binds(base.AsIdent()) {
		return code{}, false
	}
	return w.found(e.AsCall().Target(), "nil"), true
}

// choices returns the items of a list of string literals as fields of a table, or none for another part.
func choices(e ast.Expr) []string {
	if e.Kind() != ast.ListKind {
		return nil
	}
	var fields []string
	for _, item := range e.AsList().Elements() {
		text, ok := literalText(item)
		if !ok {
			return nil
		}
		fields = append(fields, member(text, atom("true")))
	}
	return fields
}

// compares returns the runtime function that compares two values of a type that Lua lacks, or "".
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

// arithmetic translates arithmetic operators.
func (w *writer) arithmetic(e ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	function, ok := map[string]string{
		operators.Add: "add", operators.Subtract: "sub", operators.Multiply: "mul", operators.Divide: "div", operators.Modulo: "mod",
	}[name]
	if !ok {
		return code{}, false
	}
	a, b := arguments[0], arguments[1]
	all := func(kind types.Kind) bool { return w.is(a, kind) && w.is(b, kind) }
	some := func(kind types.Kind) bool { return w.is(a, kind) || w.is(b, kind) }
	switch {
	case some(types.TimestampKind), some(types.DurationKind):
		return w.refuse("arithmetic with times"), true
	case some(types.BytesKind):
		return w.refuse("arithmetic with bytes"), true
	case name == operators.Add && w.joins(e):
		var parts []code
		for _, part := range w.strings(e) {
			parts = append(parts, w.textOf(part))
		}
		return chain("..", rankConcat, parts), true
	case all(types.ListKind):
		return w.call("concat", w.text(a), w.text(b)), true
	case all(types.DoubleKind) && name != operators.Modulo:
		operator := map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/"}[function]
		return code{w.write(a).within(rankAtom) + " " + operator + " " + w.write(b).within(rankAtom), rankSum}, true
	case some(types.DoubleKind):
		return w.refuse("arithmetic with a double and a value that may be an integer: Lua does not distinguish 1 from 1.0"), true
	case some(types.UintKind):
		return w.call("unsigned", w.call(function, w.text(a), w.text(b)).text), true
	}
	return w.call(function, w.text(a), w.text(b)), true
}

// joins reports whether a part is a string, or a sum with a string.
func (w *writer) joins(e ast.Expr) bool {
	return w.is(e, types.StringKind) || isCall(e, operators.Add) && slices.ContainsFunc(e.AsCall().Args(), w.joins)
}

// strings returns the operands of a sum of strings.
func (w *writer) strings(e ast.Expr) []ast.Expr {
	if !isCall(e, operators.Add) || !w.joins(e) {
		return []ast.Expr{e}
	}
	return append(w.strings(e.AsCall().Args()[0]), w.strings(e.AsCall().Args()[1])...)
}

// optionals translates operators and functions of optional values.
func (w *writer) optionals(e ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch name {
	case operators.OptSelect, operators.OptIndex:
		return w.found(e, w.use("none")), true
	case operators.Index:
		switch {
		case w.optional(arguments[0]):
			return w.found(e, w.use("none")), true
		case arguments[1].Kind() == ast.LiteralKind:
			return w.required(e), true
		}
		w.positions = true
		return w.call("at", w.text(arguments[0]), w.text(arguments[1])), true
	case "orValue":
		return w.orValue(arguments[0], arguments[1]), true
	case "or":
		return w.call("or_else", w.text(arguments[0]), closure(w.write(arguments[1]))), true
	case "hasValue":
		if invalid, ok := w.invalid(arguments[0]); ok {
			return invalid, true
		}
		return w.exists(arguments[0]), true
	case "optional.of":
		return w.write(arguments[0]), true
	case "optional.none":
		return atom(w.use("none")), true
	}
	return code{}, false
}

// orValue translates an optional value with a default.
func (w *writer) orValue(e, otherwise ast.Expr) code {
	if !w.chained(e) || !fixed(otherwise) {
		return w.call("or_else", w.text(e), closure(w.write(otherwise)))
	}
	return w.found(e, w.text(otherwise))
}

// chained reports whether a part is a chain of optional steps.
func (w *writer) chained(e ast.Expr) bool {
	_, keys := w.chainOf(e, true)
	return len(keys) > 0
}

// fixed reports whether a part does not depend on the object.
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

// formats maps named formats to the runtime functions that check them.
var formats = map[string]string{"format.datetime": "is_datetime", "format.date": "is_date"}

// invalid translates the check that a string violates a named format.
func (w *writer) invalid(e ast.Expr) (code, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "validate" || e.AsCall().Target().Kind() != ast.CallKind {
		return code{}, false
	}
	name := e.AsCall().Target().AsCall().FunctionName()
	check, ok := formats[name]
	if !ok {
		return w.refuse("the format %s", name), true
	}
	value := w.call("string_in", w.text(e.AsCall().Args()[0])).text
	return code{"not " + w.call(check, value).text, rankUnary}, true
}

// conversion translates type conversions.
func (w *writer) conversion(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	if len(arguments) != 1 {
		return code{}, false
	}
	of := arguments[0]
	switch name {
	case "dyn":
		return w.write(of), true
	case "size":
		if of.Kind() == ast.IdentKind && w.is(of, types.ListKind) {
			return code{"#" + w.text(of), rankUnary}, true
		}
		return w.call("size", w.text(of)), true
	case "int", "uint", "double", "string", "bool", "timestamp":
		return w.converted(name, of), true
	}
	return code{}, false
}

// converted returns the conversion of a value to the type name.
func (w *writer) converted(name string, of ast.Expr) code {
	simple := w.is(of, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.DynKind)
	switch {
	case name == "bool" && w.is(of, types.BoolKind), name == "timestamp" && w.is(of, types.TimestampKind):
		return w.write(of)
	case name == "int" && w.is(of, types.TimestampKind):
		return atom(w.write(of).within(rankAtom) + ".seconds")
	case name == "string" && w.is(of, types.TimestampKind):
		return w.call("time_of", w.text(of))
	case name == "string" && (w.is(of, types.BoolKind) || simple && !w.is(of, types.DoubleKind)):
		return w.call("string_of", w.text(of))
	case name == "uint" && simple:
		return w.call("unsigned", w.call("int", w.text(of)).text)
	case simple && name != "string" && name != "bool":
		return w.call(name, w.text(of))
	}
	return w.refuse("%s of a %s", name, w.typed(of).TypeName())
}

// quantity translates the functions of Kubernetes' quantities.
func (w *writer) quantity(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch {
	case name == "sign" && len(arguments) == 1:
		return w.call("compare", w.call("amount", w.text(arguments[0])).text, "0"), true
	case len(arguments) == 0 || !w.named(arguments[0], quantityType):
		return code{}, false
	case name == "add":
		return w.sum(arguments), true
	case name == "asApproximateFloat":
		return w.call("amount", w.text(arguments[0])), true
	}
	return w.ordered(name, "compare_quantities", arguments)
}

// sum adds quantities in one call.
func (w *writer) sum(arguments []ast.Expr) code {
	var parts []string
	for _, part := range arguments {
		written := w.text(part)
		if w.is(part, types.IntKind) {
			written = w.call("string_of", written).text
		}
		parts = append(parts, written)
	}
	return w.call("quantity_sum", parts...)
}

// ordered translates the comparison functions of a type.
func (w *writer) ordered(name, compare string, arguments []ast.Expr) (code, bool) {
	operator, ok := map[string]string{"isGreaterThan": ">", "isLessThan": "<", "compareTo": ""}[name]
	if !ok {
		return code{}, false
	}
	order := w.call(compare, w.text(arguments[0]), w.text(arguments[1]))
	if operator == "" {
		return order, true
	}
	return compared(order, operator, atom("0")), true
}

// semver translates the functions of semantic versions.
func (w *writer) semver(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch {
	case name == "semver":
		return w.call("version", w.versionText(arguments)), true
	case name == "isSemver":
		return w.call("is_version", w.versionText(arguments)), true
	case len(arguments) == 0 || !w.named(arguments[0], semverType):
		return code{}, false
	}
	if part, ok := map[string]string{"major": "[1]", "minor": "[2]", "patch": "[3]"}[name]; ok {
		return atom(w.write(arguments[0]).within(rankAtom) + part), true
	}
	return w.ordered(name, "compare_versions", arguments)
}

// versionText translates the text of a version. The second argument, a literal, reports whether to normalize it.
func (w *writer) versionText(arguments []ast.Expr) string {
	text := w.text(arguments[0])
	switch {
	case len(arguments) == 1 || isLiteral(arguments[1], types.False):
		return text
	case !isLiteral(arguments[1], types.True):
		w.refuse("a second argument of semver or isSemver that is not a literal")
	}
	return w.call("normalized", text).text
}

// textFunctions maps string functions and their number of arguments to runtime functions.
var textFunctions = map[string]map[int]string{
	"startsWith": {2: "starts_with"}, "endsWith": {2: "ends_with"}, "contains": {2: "includes"}, "split": {2: "split_any"}, "join": {1: "join", 2: "join"},
	"replace": {3: "replace"}, "substring": {2: "substring", 3: "substring"}, "charAt": {2: "char_at"}, "indexOf": {2: "index_of"},
	"lowerAscii": {1: "lower_ascii"}, "upperAscii": {1: "upper_ascii"},
}

// textFunction translates string functions.
func (w *writer) textFunction(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch {
	case name == "matches" && len(arguments) == 2:
		return w.matches(arguments[0], arguments[1]), true
	case name == "sum" && len(arguments) == 1 && w.isListOf(arguments[0], types.IntKind, types.UintKind, types.DynKind):
		return w.call("sum_items", w.text(arguments[0])), true
	case (name == "max" || name == "min") && len(arguments) == 1 && w.isListOf(arguments[0], comparableKinds...):
		return w.call(name+"_item", w.text(arguments[0])), true
	}
	function, ok := textFunctions[name][len(arguments)]
	ambiguous := name == "indexOf" && !w.is(arguments[0], types.StringKind)
	if !ok || ambiguous || !w.is(arguments[0], types.StringKind, types.DynKind, types.ListKind) {
		return code{}, false
	}
	if separator, ok := literalText(arguments[len(arguments)-1]); ok && separator != "" && function == "split_any" {
		function = "split"
	}
	texts := make([]string, len(arguments))
	for i, argument := range arguments {
		texts[i] = w.text(argument)
	}
	return w.call(function, texts...), true
}

// comparableKinds lists the kinds of values that Lua can compare.
var comparableKinds = []types.Kind{types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.BoolKind, types.DynKind}

// isListOf reports whether a part is, or may be, a list of items of these kinds.
func (w *writer) isListOf(e ast.Expr, kinds ...types.Kind) bool {
	return w.is(e, types.DynKind) || w.is(e, types.ListKind) && slices.Contains(kinds, w.typed(e).Parameters()[0].Kind())
}

// matches translates the match with a regular expression, which must be a literal.
func (w *writer) matches(value, expression ast.Expr) code {
	text, ok := literalText(expression)
	if !ok {
		return w.refuse("matches with an expression that is not a literal")
	}
	steps, err := automaton(text)
	if err != nil {
		return w.refuse("matches: %q %s", text, err)
	}
	return w.call("accepts", w.text(value), steps)
}
