// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// formats are the named formats that a function of the runtime checks.
var formats = map[string]string{"format.datetime": "is_datetime", "format.date": "is_date"}

// invalid is whether a text has not the form of a named format.
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

// conversion are the functions that make values of other types.
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

// converted is a value as one of another type.
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

// quantity are the functions of Kubernetes' quantities.
func (w *writer) quantity(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch {
	case name == "quantity" && len(arguments) == 1:
		return w.call("quantity_sum", w.text(arguments[0])), true
	case name == "isQuantity":
		return w.call("is_quantity", w.text(arguments[0])), true
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

// sum adds quantities up, all at once.
func (w *writer) sum(arguments []ast.Expr) code {
	var parts []string
	for _, part := range arguments {
		switch {
		case part.Kind() == ast.CallKind && part.AsCall().FunctionName() == "quantity" && len(part.AsCall().Args()) == 1:
			parts = append(parts, w.text(part.AsCall().Args()[0]))
		case w.is(part, types.IntKind):
			parts = append(parts, w.call("string_of", w.text(part)).text)
		default:
			parts = append(parts, w.text(part))
		}
	}
	return w.call("quantity_sum", parts...)
}

// ordered are the functions that compare values of a type.
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

// semver are the functions of semantic versions.
func (w *writer) semver(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch {
	case name == "semver" && w.strict(arguments):
		return w.call("version", w.text(arguments[0])), true
	case name == "semver":
		return w.call("version", w.call("normalized", w.text(arguments[0])).text), true
	case name == "isSemver" && w.strict(arguments):
		return w.call("is_version", w.text(arguments[0])), true
	case name == "isSemver":
		return w.call("is_version", w.call("normalized", w.text(arguments[0])).text), true
	case len(arguments) == 0 || !w.named(arguments[0], semverType):
		return code{}, false
	}
	if part, ok := map[string]string{"major": "[1]", "minor": "[2]", "patch": "[3]"}[name]; ok {
		return atom(w.write(arguments[0]).within(rankAtom) + part), true
	}
	return w.ordered(name, "compare_versions", arguments)
}

// strict says that a version is read as it is. Whether it is must be written out.
func (w *writer) strict(arguments []ast.Expr) bool {
	switch {
	case len(arguments) == 1 || isLiteral(arguments[1], types.False):
		return true
	case !isLiteral(arguments[1], types.True):
		w.refuse("a version that is read in a way that is computed")
	}
	return false
}

// textFunctions are functions of texts, by how many arguments they have.
var textFunctions = map[string]map[int]string{
	"startsWith": {2: "starts_with"}, "endsWith": {2: "ends_with"}, "contains": {2: "includes"}, "split": {2: "split"}, "join": {1: "join", 2: "join"},
	"replace": {3: "replace"}, "substring": {2: "substring", 3: "substring"}, "charAt": {2: "char_at"}, "indexOf": {2: "index_of"},
	"lowerAscii": {1: "lower_ascii"}, "upperAscii": {1: "upper_ascii"},
}

// textFunction are the functions of texts.
func (w *writer) textFunction(_ ast.Expr, name string, arguments []ast.Expr) (code, bool) {
	switch {
	case name == "matches" && len(arguments) == 2:
		return w.matches(arguments[0], arguments[1]), true
	case name == "sum" && len(arguments) == 1 && w.of(arguments[0], types.IntKind, types.UintKind, types.DynKind):
		return w.call("sum_items", w.text(arguments[0])), true
	case (name == "max" || name == "min") && len(arguments) == 1 && w.of(arguments[0], comparableKinds...):
		return w.call(name+"_item", w.text(arguments[0])), true
	}
	function, ok := textFunctions[name][len(arguments)]
	ambiguous := name == "indexOf" && !w.is(arguments[0], types.StringKind)
	if !ok || ambiguous || !w.is(arguments[0], types.StringKind, types.DynKind, types.ListKind) {
		return code{}, false
	}
	texts := make([]string, len(arguments))
	for i, argument := range arguments {
		texts[i] = w.text(argument)
	}
	return w.call(function, texts...), true
}

// comparableKinds are the kinds of values that Lua can compare.
var comparableKinds = []types.Kind{types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.BoolKind, types.DynKind}

// of says whether a part is a list of values of some kinds, or may be one.
func (w *writer) of(e ast.Expr, kinds ...types.Kind) bool {
	return w.is(e, types.DynKind) || w.is(e, types.ListKind) && slices.Contains(kinds, w.typed(e).Parameters()[0].Kind())
}

// matches is whether a text matches a regular expression, which must be written out.
func (w *writer) matches(value, expression ast.Expr) code {
	text, ok := literalText(expression)
	if !ok {
		return w.refuse("matches with an expression that is not written out")
	}
	all, err := patterns(text)
	if err != nil {
		steps, err := automaton(text)
		if err != nil {
			return w.refuse("matches: %q %s", text, err)
		}
		return w.call("accepts", w.text(value), steps)
	}
	arguments := []string{w.text(value)}
	for _, pattern := range all {
		arguments = append(arguments, quote(pattern))
	}
	return w.call("matches", arguments...)
}
