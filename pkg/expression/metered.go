// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
)

// planProgram creates a program for an expression, or a part of one, with limits on values and cost.
func planProgram(p *compiledExpression, env *cel.Env, checked *ast.AST, options ...cel.ProgramOption) (cel.Program, error) {
	p.step = partsOfStep(checked.Expr())
	limit := limiter{types: checked.TypeMap()}
	options = append(options, cel.InterruptCheckFrequency(1), cel.CustomDecorator(limit.decorate))
	run, err := env.PlanProgram(checked, options...)
	p.limited = limit.used
	return run, err
}

// partsOfStep returns the largest number of parts of a step of the comprehensions in an expression.
func partsOfStep(root ast.Expr) uint64 {
	step := uint64(0)
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		parts := uint64(0)
		count := ast.NewExprVisitor(func(ast.Expr) { parts++ })
		ast.PreOrderVisit(e.AsComprehension().LoopCondition(), count)
		ast.PreOrderVisit(e.AsComprehension().LoopStep(), count)
		step = max(step, parts)
	}))
	return step
}

// nesting returns how many loops of an expression are inside of each other at most. Loops over lists that are written
// out do not count, because they are short.
func nesting(tree *ast.AST) int {
	most := 0
	for _, e := range ast.MatchDescendants(ast.NavigateAST(tree), ast.KindMatcher(ast.ComprehensionKind)) {
		depth, below := 0, int64(0)
		for part, ok := e, true; ok; part, ok = part.Parent() {
			if part.Kind() == ast.ComprehensionKind {
				if items := part.AsComprehension().IterRange(); items.Kind() != ast.ListKind && items.ID() != below {
					depth++
				}
			}
			below = part.ID()
		}
		most = max(most, depth)
	}
	return most
}

// limiter limits the steps of an expression that create values, or that take longer for larger arguments.
// It counts the actual cost itself, because cel.CostLimit takes quadratic time: cel-go v0.26 keeps the values of all steps
// on a stack until a comprehension ends, and searches it in each step for the branches of conditions that were not
// evaluated (interpreter/runtimecost.go, refValStack). l.map(x, x > 3 ? x + 1 : x) takes 13 s with it for 64,000 items,
// and 0.06 s without.
type limiter struct {
	types map[int64]*types.Type
	used  bool
}

// decorate implements interpreter.InterpretableDecorator.
func (l *limiter) decorate(step interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch step := step.(type) {
	case interpreter.InterpretableConstructor:
		if !slices.ContainsFunc(step.InitVals(), isComputed) {
			return step, nil
		}
		l.used = true
		return limitedConstructor{step}, nil
	case interpreter.InterpretableCall:
		function := step.Function()
		implementation, ok := implementations()[step.OverloadID()]
		if !ok {
			implementation, ok = implementations()[function]
		}
		if !ok || l.isBrief(step) {
			return step, nil
		}
		l.used = true
		call := limitedCall{InterpretableCall: step, implementation: implementation, creates: l.creates(step)}
		if !slices.Contains(matching, function) || isComputed(step.Args()[1]) {
			return call, nil
		}
		// CEL replaces this call by one with the compiled pattern, but keeps the arguments.
		arguments := slices.Clone(step.Args())
		arguments[0] = searchedText{arguments[0], sizeOfPattern(arguments[1].Eval(interpreter.EmptyActivation()))}
		return interpreter.NewCall(step.ID(), function, step.OverloadID(), arguments, func(values ...ref.Val) ref.Val {
			return call.call(values)
		}), nil
	}
	return step, nil
}

// isBrief reports whether the time of a call hardly depends on its arguments, and it creates no value that is not counted
// elsewhere.
func (l *limiter) isBrief(call interpreter.InterpretableCall) bool {
	arguments := call.Args()
	switch function := call.Function(); function {
	case operators.Add:
		return accumulates(call) // the items that map and filter add are counted at their creation
	case operators.Equals, operators.NotEquals:
		return !isComputed(arguments[0]) || !isComputed(arguments[1])
	case operators.In:
		return l.types[arguments[1].ID()].Kind() == types.MapKind
	case satisfies:
		return !isComputed(arguments[1]) // ParseVersion limits the version
	default:
		return brief[function]
	}
}

func isComputed(step interpreter.Interpretable) bool {
	_, constant := step.(interpreter.InterpretableConst)
	return !constant
}

// quadratic lists the functions with a cost proportional to the product of their arguments' sizes.
var quadratic = map[string]bool{
	"indexOf": true, "lastIndexOf": true, "distinct": true, "sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// parsing lists the functions that parse a text into a value many times its size, or in quadratic time.
var parsing = map[string]bool{"semver": true, "isSemver": true, "quantity": true, "isQuantity": true, satisfies: true}

// matching lists the functions with a regular expression as their second argument. They compile one that is not constant.
var matching = []string{"matches", "find", "findAll"}

// creates reports whether a call may create a value of any size.
func (l *limiter) creates(call interpreter.InterpretableCall) bool {
	known := l.types[call.ID()]
	return known == nil || !slices.Contains([]types.Kind{types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.NullTypeKind,
		types.DurationKind, types.TimestampKind, types.TypeKind}, known.Kind())
}

// accumulates reports whether a call is a step of a macro that adds to its result.
func accumulates(call interpreter.InterpretableCall) bool {
	if len(call.Args()) == 0 {
		return false
	}
	attribute, ok := call.Args()[0].(interpreter.InterpretableAttribute)
	if !ok {
		return false
	}
	named, ok := attribute.Attr().(interpreter.NamespacedAttribute)
	return ok && slices.ContainsFunc(named.CandidateVariableNames(), func(name string) bool {
		return name == parser.AccumulatorName || name == parser.HiddenAccumulatorName
	})
}

// implementations are those of all functions, by their names and by those of their overloads.
var implementations = sync.OnceValue(func() map[string]*functions.Overload {
	found := map[string]*functions.Overload{}
	env, err := baseEnvironment()
	if err != nil {
		return nil // then there is no expression either
	}
	for _, declared := range env.Functions() {
		overloads, _ := declared.Bindings()
		for _, overload := range overloads {
			found[overload.Operator] = overload
		}
	}
	return found
})

// limitedConstructor is a list or a map that is written out.
type limitedConstructor struct {
	interpreter.InterpretableConstructor
}

// Eval implements interpreter.Interpretable.
func (c limitedConstructor) Eval(vars interpreter.Activation) ref.Val {
	value := c.InterpretableConstructor.Eval(vars)
	if types.IsUnknownOrError(value) {
		return value
	}
	e, size := evaluationOf(vars), sizeOf(value, maximumValue)
	if err := e.meter.reserve(size, maximumValue); err != nil {
		return e.exceed(c, err)
	}
	e.meter.size += size
	return value
}

// searchedText is the text in which a constant regular expression is searched. It counts the cost of the search.
type searchedText struct {
	interpreter.Interpretable
	pattern int
}

// Eval implements interpreter.Interpretable.
func (t searchedText) Eval(vars interpreter.Activation) ref.Val {
	text, e := t.Interpretable.Eval(vars), evaluationOf(vars)
	if err := e.spend(searchCost(text, t.pattern)); err != nil {
		return e.exceed(t, err)
	}
	return text
}

// limitedCall is a call that creates a value, or that takes longer for larger arguments. It checks the limits before
// it creates the value.
type limitedCall struct {
	interpreter.InterpretableCall
	implementation *functions.Overload
	creates        bool
}

// Eval implements interpreter.Interpretable.
func (c limitedCall) Eval(vars interpreter.Activation) ref.Val {
	var few [4]ref.Val
	values := few[:0]
	for _, argument := range c.Args() {
		value := argument.Eval(vars)
		if types.IsUnknownOrError(value) {
			return value
		}
		values = append(values, value)
	}
	e := evaluationOf(vars)
	result, err := c.limited(e, values)
	if err != nil {
		return e.exceed(c, err)
	}
	return types.LabelErrNode(c.ID(), result)
}

// limited calls the function if there is room for the result, and counts its size and the cost.
func (c limitedCall) limited(e *evaluation, values []ref.Val) (ref.Val, error) {
	if err := c.check(values); err != nil {
		return nil, err
	}
	read := values
	if c.Function() == mapInsert {
		read = values[1:]
	}
	size := 0
	if c.creates {
		size = c.estimate(read)
		if err := e.meter.reserve(size, maximumValue); err != nil {
			return nil, err
		}
	}
	if err := e.spend(c.cost(read, size)); err != nil {
		return nil, err
	}
	result := c.call(values)
	if types.IsUnknownOrError(result) {
		return result, nil
	}
	if c.creates && c.Function() != mapInsert {
		size = sizeOf(result, maximumValue)
	}
	e.meter.size += size
	return result, nil
}

// call calls the function as CEL does.
func (c limitedCall) call(values []ref.Val) ref.Val {
	switch c.Function() {
	case operators.Add:
		if joined := joinLists(values); joined != nil {
			return joined
		}
	case operators.Equals:
		return types.Equal(values[0], values[1])
	case operators.NotEquals:
		return types.Bool(types.Equal(values[0], values[1]) != types.True)
	}
	f := c.implementation
	if len(values) == 0 || f.OperandTrait == 0 || values[0].Type().HasTrait(f.OperandTrait) {
		switch {
		case len(values) == 1 && f.Unary != nil:
			return f.Unary(values[0])
		case len(values) == 2 && f.Binary != nil:
			return f.Binary(values[0], values[1])
		case f.Function != nil:
			return f.Function(values...)
		}
	}
	if len(values) > 0 && values[0].Type().HasTrait(traits.ReceiverType) {
		return values[0].(traits.Receiver).Receive(c.Function(), c.OverloadID(), values[1:])
	}
	return types.NewErr("no such overload: %s", c.Function())
}

// joinLists returns a list with the items of two lists, or nil for other values. CEL's + keeps both parts and asks them
// for items and sizes at each step, which takes exponential time for repeated concatenation.
func joinLists(values []ref.Val) ref.Val {
	var items []ref.Val
	for _, value := range values {
		list, ok := value.(traits.Lister)
		if !ok {
			return nil
		}
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

// mapInsert is the function with which macros such as transformMap add to their map.
const mapInsert = "cel.@mapInsert"

// check returns an error for texts that take too long to be parsed, and for values that take too long to be compared: a
// single call is not interrupted.
func (c limitedCall) check(values []ref.Val) error {
	switch function := c.Function(); {
	case quadratic[function] && quadraticCost(values) > maximumCost:
		return errTooCostly
	case parsing[function] && slices.ContainsFunc(values, func(v ref.Val) bool { return lengthOf(v) > maximumParsed }),
		slices.Contains(matching, function) && lengthOf(values[1]) > maximumParsed:
		return errTooLong
	case slices.Contains(matching, function) && sizeOfPattern(values[1]) > maximumPattern:
		return errTooComplex
	}
	return nil
}

// estimate returns an upper bound of the result's size.
func (c limitedCall) estimate(values []ref.Val) int {
	size := sizeOfThem(values)
	if len(values) == 0 || size > maximumValue {
		return size
	}
	switch c.Function() {
	case "replace":
		return sizeOfReplaced(values)
	case "split":
		return size + itemSize*occurrences(values[0], values[1])
	case "join":
		separator := values[len(values)-1] // the list itself, without a length, if there is none
		return size + lengthOf(separator)*int(values[0].(traits.Sizer).Size().(types.Int))
	case "lists.range":
		n, _ := values[0].(types.Int)
		return itemSize * int(min(n, maximumValue))
	case "format":
		return 4*size + digits(values[0])
	}
	return size
}

func sizeOfThem(values []ref.Val) int {
	size := 0
	for _, value := range values {
		size += sizeOf(value, maximumValue)
	}
	return size
}

// sizeOfReplaced returns the size of a text after a replacement.
func sizeOfReplaced(values []ref.Val) int {
	n := occurrences(values[0], values[1])
	if len(values) > 3 {
		if most, ok := values[3].(types.Int); ok && most >= 0 {
			n = min(n, int(min(most, math.MaxInt32)))
		}
	}
	return itemSize + lengthOf(values[0]) + n*max(0, lengthOf(values[2])-lengthOf(values[1]))
}

// sizeOfPattern returns the size of a regular expression, or 0 for a text that is none.
func sizeOfPattern(pattern ref.Val) int {
	text, _ := pattern.(types.String)
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return 0
	}
	return patternSize(parsed)
}

// patternSize returns the size of a regular expression in characters with its repetitions written out. It stops counting
// above maximumPattern.
func patternSize(pattern *syntax.Regexp) int {
	size := 1
	if pattern.Op == syntax.OpLiteral {
		size = len(pattern.Rune)
	}
	for _, part := range pattern.Sub {
		size += patternSize(part)
	}
	if pattern.Op == syntax.OpRepeat {
		size *= max(1, pattern.Min, pattern.Max)
	}
	return min(size, maximumPattern+1)
}

// occurrences returns how often a text is found in another, and one more.
func occurrences(in, of ref.Val) int {
	text, _ := in.(types.String)
	found, _ := of.(types.String)
	return strings.Count(string(text), string(found)) + 1
}

// lengthOf returns the length of a text or of bytes; of another value 0.
func lengthOf(value ref.Val) int {
	switch value := value.(type) {
	case types.String:
		return len(value)
	case types.Bytes:
		return len(value)
	}
	return 0
}

var precision = regexp.MustCompile(`%\.([0-9]+)`)

// digits returns how many digits a format asks for.
func digits(format ref.Val) int {
	text, _ := format.(types.String)
	sum := 0
	for _, found := range precision.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil || n > maximumValue {
			n = maximumValue
		}
		sum += n
	}
	return sum
}

// quadraticCost returns the cost of comparing each item of one value with each item of another. A single value is
// compared with itself.
func quadraticCost(values []ref.Val) uint64 {
	cost := 1.0
	for _, value := range []ref.Val{values[0], values[min(1, len(values)-1)]} {
		if text, ok := value.(types.String); ok {
			cost *= float64(len(text)) / 4 // characters are compared faster than items
		} else {
			cost *= float64(sizeOf(value, maximumValue)) / itemSize
		}
	}
	return uint64(cost)
}

// searchCost returns the cost of searching a regular expression of some size in a text.
func searchCost(text ref.Val, pattern int) uint64 {
	const factor = 4 // characters of each in a unit
	return uint64(1+lengthOf(text)/factor) * uint64(1+pattern/factor)
}

// cost returns the cost of a call that reads values and creates one of some size.
func (c limitedCall) cost(values []ref.Val, size int) uint64 {
	switch function := c.Function(); {
	case quadratic[function]:
		return quadraticCost(values)
	case slices.Contains(matching, function):
		pattern := sizeOfPattern(values[1])
		return searchCost(values[0], pattern) + compilationCost*uint64(pattern)
	default:
		factor, ok := factors[function]
		if !ok {
			factor = common.StringTraversalCostFactor
		}
		return 1 + uint64(float64(max(size, c.work(values)))*factor)
	}
}

// work returns the size of the part of the arguments that a call reads.
func (c limitedCall) work(values []ref.Val) int {
	switch c.Function() {
	case "size":
		return lengthOf(values[0]) // it counts characters
	case "startsWith", "endsWith":
		return lengthOf(values[1])
	case operators.Equals, operators.NotEquals:
		if length := min(lengthOf(values[0]), lengthOf(values[1])); length > 0 {
			return length
		}
		return sizeOf(values[1], maximumValue)
	case operators.In:
		if _, ok := values[1].(traits.Mapper); ok {
			return 0
		}
		return sizeOf(values[1], maximumValue)
	}
	return sizeOfThem(values)
}

// compilationCost is the cost of compiling one character of a regular expression.
const compilationCost = 30

// factors are the costs of functions for each byte that they read. Compared values are read item by item.
var factors = map[string]float64{
	operators.Equals: 0.6, operators.NotEquals: 0.6, operators.In: 0.6, "sha256": 0.2, "quote": 0.2, "toYAML": 1.25,
}
