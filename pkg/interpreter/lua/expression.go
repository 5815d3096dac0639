// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// writer translates one CEL expression to Lua.
type writer struct {
	*script
	ast *ast.AST
	at  source.Place
	// bound has the variables of enclosing macros.
	bound []binding
}

// binding maps a CEL variable to its Lua name.
type binding struct{ cel, lua string }

// Type names of Kubernetes' CEL library and of Graft.
const (
	quantityType = "kubernetes.Quantity"
	semverType   = "kubernetes.Semver"
	memberType   = "graft.Member"
)

// refuse adds a finding that something has no equivalent in Lua, and returns the nil of Lua.
func (w *writer) refuse(format string, arguments ...any) code {
	w.add(w.at.FindingOf(NotInLua, "has no equivalent in Lua: "+format, arguments...))
	return atom("nil")
}

// call returns a call of a runtime function.
func (w *writer) call(name string, arguments ...string) code {
	return invoke(w.use(name), arguments...)
}

// write translates a part of the expression.
func (w *writer) write(e ast.Expr) code {
	switch e.Kind() {
	case ast.LiteralKind:
		return w.literal(e)
	case ast.IdentKind:
		return w.variable(e.AsIdent())
	case ast.SelectKind:
		return w.selection(e)
	case ast.CallKind:
		return w.function(e)
	case ast.ListKind:
		return w.list(e.AsList())
	case ast.MapKind:
		return w.mapping(e.AsMap())
	case ast.ComprehensionKind:
		return w.comprehension(e)
	default:
		return w.refuse("objects of other types")
	}
}

// text translates a part to an argument.
func (w *writer) text(e ast.Expr) string { return w.write(e).text }

// typed returns the type of a part. An optional of unknown type has type dyn: CEL would report the type of the
// default.
func (w *writer) typed(e ast.Expr) *types.Type {
	if (isCall(e, "orValue") || isCall(e, "value")) && w.loose(e.AsCall().Target()) {
		return types.DynType
	}
	return w.ast.GetType(e.ID())
}

// loose reports whether the type of a part's value is unknown.
func (w *writer) loose(e ast.Expr) bool {
	switch {
	case e.Kind() == ast.SelectKind:
		return w.loose(e.AsSelect().Operand())
	case isCall(e, operators.OptSelect), isCall(e, operators.OptIndex), isCall(e, operators.Index):
		return !w.is(e.AsCall().Args()[0], types.ListKind, types.MapKind) || w.loose(e.AsCall().Args()[0])
	case isCall(e, "or"):
		return w.loose(e.AsCall().Target()) || w.loose(e.AsCall().Args()[0])
	}
	return false
}

func (w *writer) is(e ast.Expr, kinds ...types.Kind) bool {
	return slices.Contains(kinds, w.typed(e).Kind())
}

func (w *writer) named(e ast.Expr, name string) bool { return w.typed(e).TypeName() == name }

// optional reports whether a part may be absent.
func (w *writer) optional(e ast.Expr) bool {
	switch {
	case w.named(e, types.OptionalType.TypeName()):
		return true
	case e.Kind() == ast.SelectKind: // CEL reports dyn if it does not know that a value is optional
		return !e.AsSelect().IsTestOnly() && w.optional(e.AsSelect().Operand())
	case isCall(e, operators.Index):
		return w.optional(e.AsCall().Args()[0])
	}
	return false
}

// scalar reports whether Lua's == compares values of the part's type as CEL does.
func (w *writer) scalar(e ast.Expr) bool {
	return w.is(e, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.NullTypeKind)
}

func (w *writer) literal(e ast.Expr) code {
	switch value := e.AsLiteral().(type) {
	case types.Bool:
		return atom(strconv.FormatBool(bool(value)))
	case types.Int:
		if value >= largest || value <= -largest {
			return w.refuse("the number %d, which is too large", value)
		}
		return number(float64(value))
	case types.Uint:
		if value >= largest {
			return w.refuse("the number %d, which is too large", value)
		}
		return number(float64(value))
	case types.Double:
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			return w.refuse("a number that is not finite")
		}
		return number(float64(value))
	case types.String:
		return atom(quote(string(value)))
	case types.Null:
		return atom(w.use("null"))
	default:
		return w.refuse("a value of type %s", e.AsLiteral().Type().TypeName())
	}
}

// variable returns a variable of the rule or of a macro.
func (w *writer) variable(name string) code {
	w.reads = w.reads || !w.binds(name) && name == "object"
	if !w.binds(name) && name == "kind" {
		return w.refuse("the kind as a whole; name kind.group, kind.version or kind.kind")
	}
	return atom(w.name(name))
}

// name returns the name of a variable in Lua.
func (w *writer) name(name string) string {
	for _, b := range slices.Backward(w.bound) {
		if b.cel == name {
			return b.lua
		}
	}
	return name
}

// bind returns a writer that knows a further variable, and its name in Lua.
func (w *writer) bind(name string) (*writer, string) {
	inner, lua := *w, name
	if slices.Contains(keywords, name) || slices.Contains(globals, name) || isFunction(name) {
		lua += "_"
	}
	inner.bound = append(slices.Clone(w.bound), binding{name, lua})
	return &inner, lua
}

// globals lists names that scripts use in addition to the runtime functions.
var globals = []string{
	"assert", "error", "ipairs", "tostring", "both", "made", "result", "dependencies", "components", "object", "observed", "observedItem", "members", "statuses",
	"replicas", "item", "status", "field", "value",
}

// selection returns the access to a field, or the test if it exists.
func (w *writer) selection(e ast.Expr) code {
	s := e.AsSelect()
	if constant, ok := w.kindField(s); ok {
		return atom(quote(constant))
	}
	switch {
	case s.IsTestOnly() && w.optional(s.Operand()):
		return w.exists(e)
	case s.IsTestOnly():
		return compared(w.call("get", "nil", w.text(s.Operand()), quote(s.FieldName())), "~=", atom("nil"))
	case w.named(s.Operand(), memberType) && s.FieldName() != "status" && s.Operand().Kind() == ast.IdentKind:
		return atom(w.text(s.Operand()) + "." + s.FieldName())
	case w.optional(s.Operand()):
		return w.found(e, w.use("none"))
	}
	return w.required(e)
}

// kindField returns a field of the variable kind, which is a constant.
func (w *writer) kindField(s ast.SelectExpr) (string, bool) {
	if s.Operand().Kind() != ast.IdentKind || s.Operand().AsIdent() != "kind" || w.binds("kind") {
		return "", false
	}
	return map[string]string{"group": w.kind.Group, "version": w.kind.Version, "kind": w.kind.Kind}[s.FieldName()], !s.IsTestOnly()
}

// found returns the value at the end of a chain of optional steps, or a default.
func (w *writer) found(e ast.Expr, otherwise string) code {
	base, keys := w.chainOf(e, true)
	first := ""
	if base.Kind() == ast.ComprehensionKind && w.is(base, types.ListKind) && len(keys) > 1 && keys[0] == "0" {
		first, keys = "[1]", keys[1:] // of a list that a macro creates
	}
	return w.call("get", append([]string{otherwise, w.startOf(base, keys) + first}, keys...)...)
}

// startOf translates the base of a chain. Rules for aggregation change the status of the object only.
func (w *writer) startOf(base ast.Expr, keys []string) string {
	before := w.reads
	text := w.text(base)
	w.positions = w.positions || slices.ContainsFunc(keys, func(key string) bool { return key[0] != '"' })
	constant := len(keys) > 0 && keys[0][0] == '"' // a computed key may be status
	if w.operation == interpreter.Aggregate && base.Kind() == ast.IdentKind && constant && keys[0] != `"status"` {
		w.reads = before
	}
	return text
}

// binds reports whether a macro has a variable of this name.
func (w *writer) binds(name string) bool {
	return slices.ContainsFunc(w.bound, func(b binding) bool { return b.cel == name })
}

// exists reports whether an optional has a value.
func (w *writer) exists(e ast.Expr) code {
	if w.chained(e) {
		return compared(w.found(e, "nil"), "~=", atom("nil"))
	}
	return compared(w.write(e), "~=", atom(w.use("none")))
}

// required returns the value at the end of a chain of required steps.
func (w *writer) required(e ast.Expr) code {
	base, keys := w.chainOf(e, false)
	start := w.startOf(base, keys)
	for i := len(keys); i > 0 && base.Kind() == ast.IdentKind; i-- {
		if w.isKnown(start, keys[:i]) {
			for _, key := range keys[:i] {
				start = entry(start, strings.Trim(key, `"`))
			}
			keys = keys[i:]
			break
		}
	}
	if len(keys) == 0 {
		return atom(start)
	}
	return w.call("at", append([]string{start}, keys...)...)
}

// isKnown reports whether a variable certainly has a value at a path.
func (w *writer) isKnown(variable string, keys []string) bool {
	path := strings.Join(append([]string{variable}, keys...), ".") + "."
	return slices.ContainsFunc(w.known, func(known string) bool { return strings.HasPrefix(known+".", path) })
}

// guarded returns the path that has a value if a condition holds: has(a.b), or an optional value unequal to its default.
func (w *writer) guarded(e ast.Expr) []string {
	var base ast.Expr
	var keys []string
	switch {
	case e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() && !w.optional(e.AsSelect().Operand()):
		base, keys = w.chainOf(e.AsSelect().Operand(), false)
		keys = append(keys, quote(e.AsSelect().FieldName()))
	case isCall(e, operators.NotEquals) && isCall(e.AsCall().Args()[0], "orValue"):
		call, other := e.AsCall().Args()[0].AsCall(), e.AsCall().Args()[1]
		literals := call.Args()[0].Kind() == ast.LiteralKind && other.Kind() == ast.LiteralKind
		if !literals || call.Args()[0].AsLiteral().Equal(other.AsLiteral()) != types.True {
			return nil
		}
		base, keys = w.chainOf(call.Target(), true)
	}
	if len(keys) == 0 || base.Kind() != ast.IdentKind || slices.ContainsFunc(keys, func(key string) bool { return quote(strings.Trim(key, `"`)) != key }) {
		return nil
	}
	return []string{strings.Join(append([]string{w.name(base.AsIdent())}, keys...), ".")}
}

// chainOf splits a chain of fields and indexes into its base and the keys, either of optional steps or of required
// ones.
func (w *writer) chainOf(e ast.Expr, optional bool) (base ast.Expr, keys []string) {
	var key string
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		if _, constant := w.kindField(s); constant || w.optional(s.Operand()) != optional {
			return e, nil
		}
		base, key = s.Operand(), quote(s.FieldName())
	case ast.CallKind:
		call := e.AsCall()
		if !w.onTheWay(call, optional) {
			return e, nil
		}
		base, key = call.Args()[0], w.text(call.Args()[1])
	default:
		return e, nil
	}
	base, keys = w.chainOf(base, optional)
	return base, append(keys, key)
}

// onTheWay reports whether a call is a step of a chain of optional steps, or of required ones.
func (w *writer) onTheWay(call ast.CallExpr, optional bool) bool {
	switch call.FunctionName() {
	case operators.OptSelect, operators.OptIndex:
		return optional
	case operators.Index:
		return w.optional(call.Args()[0]) == optional && (optional || call.Args()[1].Kind() == ast.LiteralKind)
	}
	return false
}

func (w *writer) list(l ast.ListExpr) code {
	items := make([]string, l.Size())
	for i, item := range l.Elements() {
		items[i] = w.text(item)
	}
	if len(l.OptionalIndices()) > 0 {
		return w.call("given_items", table(items).text)
	}
	return table(items)
}

func (w *writer) mapping(m ast.MapExpr) code {
	fields, optional := make([]string, m.Size()), false
	for i, entry := range m.Entries() {
		e := entry.AsMapEntry()
		key, ok := literalText(e.Key())
		if !ok {
			return w.refuse("keys of an object that are not string literals")
		}
		optional = optional || e.IsOptional()
		fields[i] = member(key, w.write(e.Value()))
	}
	if optional {
		return w.call("given", table(fields).text)
	}
	return table(fields)
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// condition translates a part that must be a boolean.
func (w *writer) condition(e ast.Expr) code {
	written := w.write(e)
	if w.is(e, types.BoolKind) {
		return written
	}
	return w.call("bool", written.text)
}

// comprehension translates a macro. CEL expands macros to comprehensions; the initial value and the step tell
// which macro it was.
func (w *writer) comprehension(e ast.Expr) code {
	c := e.AsComprehension()
	if c.HasIterVar2() {
		return w.refuse("macros with two variables")
	}
	inner, name := w.bind(c.IterVar())
	switch init := c.AccuInit(); {
	case isLiteral(c.LoopCondition(), types.False):
		// A bound variable, which optMap and optFlatMap create.
		inner, name := w.bind(c.AccuVar())
		return atom("(" + closure(inner.write(c.Result()), name) + ")(" + w.text(c.AccuInit()) + ")")
	case isLiteral(init, types.True) && isCall(c.LoopStep(), operators.LogicalAnd):
		return w.each("all", c, inner, name, c.LoopStep().AsCall().Args()[1])
	case isLiteral(init, types.False) && isCall(c.LoopStep(), operators.LogicalOr):
		return w.each("exists", c, inner, name, c.LoopStep().AsCall().Args()[1])
	case isLiteral(init, types.Int(0)) && isCall(c.LoopStep(), operators.Conditional):
		return w.each("exists_one", c, inner, name, c.LoopStep().AsCall().Args()[0])
	case init.Kind() == ast.ListKind && isCall(c.LoopStep(), operators.Conditional):
		return w.filtered(c, inner, name)
	case init.Kind() == ast.ListKind && isCall(c.LoopStep(), operators.Add):
		made := added(c.LoopStep())
		if inner.optional(made) {
			return w.refuse("a list of values that may be absent, made by map")
		}
		return w.call("map", w.text(c.IterRange()), closure(inner.write(made), name))
	}
	return w.refuse("this macro")
}

// each calls a runtime function with a list and a condition for its items.
func (w *writer) each(function string, c ast.ComprehensionExpr, inner *writer, name string, holds ast.Expr) code {
	list := w.text(c.IterRange())
	if list != "members" {
		list = w.call("items", list).text
	}
	return w.call(function, list, closure(inner.condition(holds), name))
}

// filtered translates filter, and map with a condition.
func (w *writer) filtered(c ast.ComprehensionExpr, inner *writer, name string) code {
	step := c.LoopStep().AsCall().Args()
	kept, ok := w.where(c, step[0])
	if !ok {
		kept = w.each("filter", c, inner, name, step[0])
	}
	made := added(step[1])
	if made.Kind() == ast.IdentKind && made.AsIdent() == c.IterVar() {
		return kept
	}
	return w.call("map", kept.text, closure(inner.write(made), name))
}

// where translates a filter that compares a field of the items with a string, such as the type of conditions.
func (w *writer) where(c ast.ComprehensionExpr, holds ast.Expr) (code, bool) {
	if !isCall(holds, operators.Equals) {
		return code{}, false
	}
	field, wanted := holds.AsCall().Args()[0], holds.AsCall().Args()[1]
	text, ok := literalText(wanted)
	if !ok || field.Kind() != ast.SelectKind || field.AsSelect().IsTestOnly() {
		return code{}, false
	}
	of := field.AsSelect().Operand()
	if of.Kind() != ast.IdentKind || of.AsIdent() != c.IterVar() || w.optional(of) || w.named(of, memberType) {
		return code{}, false
	}
	return w.call("where", w.text(c.IterRange()), quote(field.AsSelect().FieldName()), quote(text)), true
}

// added returns the value that a step appends to a list.
func added(step ast.Expr) ast.Expr { return step.AsCall().Args()[1].AsList().Elements()[0] }

func isLiteral(e ast.Expr, value any) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == value
}

func isCall(e ast.Expr, name string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == name
}

// fails reports whether a part may fail for an object that matches its schema.
func (w *writer) fails(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind, ast.IdentKind:
		return false
	case ast.SelectKind:
		s := e.AsSelect()
		base, keys := w.chainOf(e, false)
		if _, constant := w.kindField(s); constant || !s.IsTestOnly() && base.Kind() == ast.IdentKind && w.isKnown(w.name(base.AsIdent()), keys) {
			return false
		}
		sure := s.IsTestOnly() || w.optional(s.Operand()) || w.named(s.Operand(), memberType) && s.FieldName() != "status"
		return !sure || w.fails(s.Operand())
	case ast.ListKind:
		return slices.ContainsFunc(e.AsList().Elements(), w.fails)
	case ast.CallKind:
		arguments := argumentsOf(e.AsCall())
		return !w.failsOnlyByArguments(e.AsCall().FunctionName(), arguments) || slices.ContainsFunc(arguments, w.fails)
	}
	return true
}

// argumentsOf returns the arguments of a call, of a method with its target first.
func argumentsOf(call ast.CallExpr) []ast.Expr {
	if call.IsMemberFunction() {
		return append([]ast.Expr{call.Target()}, call.Args()...)
	}
	return call.Args()
}

// failsOnlyByArguments reports whether a call fails only if an argument does.
func (w *writer) failsOnlyByArguments(name string, arguments []ast.Expr) bool {
	all := func(kinds ...types.Kind) bool {
		return !slices.ContainsFunc(arguments, func(e ast.Expr) bool { return !w.is(e, kinds...) })
	}
	switch name {
	case operators.Equals, operators.NotEquals, operators.OptSelect, operators.OptIndex, "hasValue", "orValue", "or":
		return true
	case operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr:
		return all(types.BoolKind)
	case operators.Conditional:
		return w.is(arguments[0], types.BoolKind)
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return all(types.IntKind, types.UintKind, types.DoubleKind) || all(types.StringKind)
	case operators.In:
		return arguments[1].Kind() == ast.ListKind
	case "size":
		return w.is(arguments[0], types.ListKind, types.MapKind, types.StringKind)
	case "startsWith", "endsWith", "contains", "matches", "isSemver", "isQuantity":
		return all(types.StringKind)
	}
	return false
}
