// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// planProgram creates a program for an expression, or a part of one, with limits on values and cost.
func planProgram(p *program, env *cel.Env, checked *ast.AST, options ...cel.ProgramOption) (cel.Program, error) {
	limit := limiter{types: checked.TypeMap(), costly: p.costly}
	options = append(options, cel.InterruptCheckFrequency(1), cel.CustomDecorator(limit.decorate))
	run, err := env.PlanProgram(checked, options...)
	p.limited, p.step = limit.used, stepCost(checked.Expr())
	return run, err
}

// stepCost returns the largest number of parts of a step of the comprehensions in an expression.
func stepCost(root ast.Expr) uint64 {
	cost := uint64(0)
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		parts := uint64(0)
		count := ast.NewExprVisitor(func(ast.Expr) { parts++ })
		ast.PreOrderVisit(e.AsComprehension().LoopCondition(), count)
		ast.PreOrderVisit(e.AsComprehension().LoopStep(), count)
		cost = max(cost, parts)
	}))
	return cost
}

// limiter limits the steps of an expression that create values, or that take longer for larger arguments.
// It counts the actual cost itself, because cel.CostLimit takes quadratic time: cel-go v0.26 keeps the values of all steps
// on a stack until a comprehension ends, and searches it in each step for the branches of conditions that were not
// evaluated (interpreter/runtimecost.go, refValStack). l.map(x, x > 3 ? x + 1 : x) takes 13 s with it for 64,000 items,
// and 0.06 s without.
type limiter struct {
	types map[int64]*types.Type
	// costly also counts the cost of calls.
	costly bool
	used   bool
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
		f, ok := creating()[step.OverloadID()]
		if !ok {
			f, ok = creating()[step.Function()]
		}
		creates := l.creates(step)
		if ok && (creates || l.costly && !brief[step.Function()] && !accumulates(step)) {
			l.used = true
			return limitedCall{InterpretableCall: step, function: f, creates: creates, costly: l.costly}, nil
		}
	}
	return step, nil
}

func isComputed(step interpreter.Interpretable) bool {
	_, constant := step.(interpreter.InterpretableConst)
	return !constant
}

// passing lists the functions that return one of their arguments, or a part of one.
var passing = map[string]bool{
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true, "dyn": true, "type": true, "hasValue": true,
	"value": true, "or": true, "orValue": true, "optional.of": true, "optional.ofNonZeroValue": true, "optional.none": true,
	"min": true, "max": true, "first": true, "last": true,
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
	function := call.Function()
	switch {
	case quadratic[function], parsing[function] && slices.ContainsFunc(call.Args(), l.isComputedText):
		return true
	case slices.Contains(matching, function) && isComputed(call.Args()[1]):
		return true
	case passing[function], function == operators.Add && accumulates(call):
		return false // the items that map and filter add are counted at their creation
	}
	return !l.hasKind(call, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.NullTypeKind, types.DurationKind,
		types.TimestampKind, types.TypeKind)
}

// isComputedText reports whether a step may have a text that is not constant.
func (l *limiter) isComputedText(step interpreter.Interpretable) bool {
	return isComputed(step) && (l.types[step.ID()] == nil || l.hasKind(step, types.StringKind, types.DynKind, types.AnyKind, types.TypeParamKind))
}

// hasKind reports whether the type of a step is known and of one of these kinds.
func (l *limiter) hasKind(step interpreter.Interpretable, kinds ...types.Kind) bool {
	known := l.types[step.ID()]
	return known != nil && slices.Contains(kinds, known.Kind())
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

// creating are the implementations of all functions, by their names and by those of their overloads.
var creating = sync.OnceValue(func() map[string]*functions.Overload {
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

// limitedCall is a call that creates a value, or that takes longer for larger arguments. It checks the size limit before
// it creates the value.
type limitedCall struct {
	interpreter.InterpretableCall
	function        *functions.Overload
	creates, costly bool
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
	size := 0
	if c.creates {
		var err error
		if size, err = c.estimate(values); err != nil {
			return nil, err
		}
		if err := e.meter.reserve(size, maximumValue); err != nil {
			return nil, err
		}
		if err := e.spend(uint64(size / itemSize / 2)); err != nil { // for going through all items
			return nil, err
		}
	}
	result := c.call(values)
	if types.IsUnknownOrError(result) {
		return result, nil
	}
	if c.creates && c.Function() != mapInsert {
		size = sizeOf(result, maximumValue)
	}
	e.meter.size += size
	if !c.costly {
		return result, nil
	}
	if cost := costs.CallCost(c.Function(), c.OverloadID(), values, result); cost != nil {
		return result, e.spend(*cost)
	}
	return result, e.spend(1)
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
	f := c.function
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

// estimate returns an upper bound of the result's size. It fails if the call would take too long.
func (c limitedCall) estimate(values []ref.Val) (int, error) {
	function := c.Function()
	if function == mapInsert {
		return sizeOfThem(values[1:]), nil
	}
	size := sizeOfThem(values)
	switch {
	case quadratic[function]:
		return 0, quadraticCost(values)
	case parsing[function] && slices.ContainsFunc(values, func(v ref.Val) bool { return lengthOf(v) > maximumParsed }):
		return 0, errTooLong
	case slices.Contains(matching, function) && isComputed(c.Args()[1]):
		if err := checkPattern(values[1]); err != nil {
			return 0, err
		}
	case len(values) == 0 || size > maximumValue:
		return size, nil
	}
	switch function {
	case "replace":
		return sizeOfReplaced(values), nil
	case "split":
		return size + itemSize*occurrences(values[0], values[1]), nil
	case "join":
		separator := values[len(values)-1] // the list itself, without a length, if there is none
		return size + lengthOf(separator)*int(values[0].(traits.Sizer).Size().(types.Int)), nil
	case "lists.range":
		n, _ := values[0].(types.Int)
		return itemSize * int(min(n, maximumValue)), nil
	case "format":
		return 4*size + digits(values[0]), nil
	case "url":
		return 2 * size, nil // the path with and without escapes
	case "getEscapedPath":
		return 3 * size, nil
	case "getQuery":
		return sizeOfQuery(values[0]), nil
	}
	return size, nil
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

// sizeOfQuery returns the size of the parameters of a URL: a list of values for each name.
func sizeOfQuery(value ref.Val) int {
	url, ok := value.(apiservercel.URL)
	if !ok {
		return 0
	}
	return itemSize + len(url.RawQuery) + 3*itemSize*(strings.Count(url.RawQuery, "&")+1)
}

// checkPattern returns an error if a regular expression is too large to be compiled. The compilation fails for a text
// that is none.
func checkPattern(pattern ref.Val) error {
	text, _ := pattern.(types.String)
	if len(text) > maximumParsed {
		return errTooLong
	}
	if isLargePattern(string(text)) {
		return errTooComplex
	}
	return nil
}

// isLargePattern reports whether a regular expression is larger than maximumPattern.
func isLargePattern(pattern string) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && patternSize(parsed) > maximumPattern
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

// quadraticCost returns an error if comparing each item of one value with each item of another would take too long. A
// single value is compared with itself.
func quadraticCost(values []ref.Val) error {
	cost := 1.0
	for _, value := range []ref.Val{values[0], values[min(1, len(values)-1)]} {
		if text, ok := value.(types.String); ok {
			cost *= float64(len(text)) / 4 // characters are compared faster than items
		} else {
			cost *= float64(sizeOf(value, maximumValue)) / itemSize
		}
	}
	if cost > maximumCost {
		return errTooCostly
	}
	return nil
}

// Assumptions about values of unknown size when an expression is compiled. Facts are small: a shoot has few workers,
// annotations and zones.
const (
	assumedItems  = 100
	assumedLength = 512
	assumedBytes  = 16 << 10
	// assumedReplacements is how often a text is found that is replaced.
	assumedReplacements = 16
)

// boundCost estimates the cost of the expression. It returns a finding if the cost is too large.
func boundCost(e *Environment, p *program) *source.Finding {
	message := "the cost cannot be estimated"
	estimate, err := e.env.EstimateCost(p.ast, costs)
	worst, worstErr := e.env.EstimateCost(p.ast, newEstimator(assumed{unknown: worstLength}))
	p.costly = worst.Max > maximumCost
	switch {
	case err != nil || worstErr != nil:
	case estimate.Max > maximumCost:
		message = fmt.Sprintf("too costly: the estimated cost is %d, the limit %d; nested comprehensions multiply the cost", estimate.Max, maximumCost)
	default:
		return nil
	}
	finding := p.finding(message).Of(TooCostly)
	return &finding
}

// costs estimates the cost of expressions, and returns the actual cost of calls.
var costs = newEstimator(assumed{})

// estimator estimates Kubernetes' functions as Kubernetes does, and Graft's by the size of their input.
type estimator struct {
	assumed
	kubernetes *library.CostEstimator
}

func newEstimator(sizes assumed) estimator {
	return estimator{sizes, &library.CostEstimator{SizeEstimator: sizes}}
}

// EstimateCallCost implements checker.CostEstimator.
func (e estimator) EstimateCallCost(function, overload string, target *checker.AstNode, arguments []checker.AstNode) *checker.CallEstimate {
	factor, ok := ownCosts[function]
	if !ok || len(arguments) == 0 {
		estimate := e.kubernetes.EstimateCallCost(function, overload, target, arguments)
		if function == "replace" && target != nil && len(arguments) > 1 {
			replaced := e.sizeOf(arguments[1]).Multiply(checker.FixedSizeEstimate(assumedReplacements))
			size := e.sizeOf(*target).Add(replaced)
			estimate.ResultSize = &size
		}
		return estimate
	}
	size := e.sizeOf(arguments[0])
	result := size.Multiply(checker.FixedSizeEstimate(2))
	return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(factor), ResultSize: &result}
}

// sizeOf returns the size of an argument.
func (e estimator) sizeOf(argument checker.AstNode) checker.SizeEstimate {
	size := argument.ComputedSize()
	if size == nil {
		size = e.EstimateSize(argument)
	}
	if size == nil {
		return checker.SizeEstimate{Max: 1}
	}
	return *size
}

// CallCost implements interpreter.ActualCostEstimator. CEL counts the characters of texts each time, which takes longer
// than comparing them, and treats the items of compared values as scalars.
func (e estimator) CallCost(function, overload string, arguments []ref.Val, result ref.Val) *uint64 {
	var size int
	factor, own := ownCosts[function]
	switch {
	case own && len(arguments) > 0:
		if size = sizeOf(arguments[0], maximumValue); function == "toJSON" || function == "toYAML" {
			size /= itemSize
		}
	case len(arguments) != 2:
		return e.kubernetes.CallCost(function, overload, arguments, result)
	case slices.Contains(comparing, function):
		if size = min(lengthOf(arguments[0]), lengthOf(arguments[1])); size == 0 {
			size = sizeOf(arguments[1], maximumValue) / itemSize * 10
		}
		factor = common.StringTraversalCostFactor
	case function == operators.Add || function == "contains" || function == "startsWith" || function == "endsWith":
		if size = lengthOf(arguments[1]); function == operators.Add || function == "contains" {
			size += lengthOf(arguments[0])
		}
		factor = common.StringTraversalCostFactor
	default:
		return e.kubernetes.CallCost(function, overload, arguments, result)
	}
	cost := uint64(math.Ceil(float64(max(1, size)) * factor))
	return &cost
}

// comparing are the functions that compare values.
var comparing = []string{
	operators.Equals, operators.NotEquals, operators.In,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
}

// ownCosts is the cost for each character, byte or item that a function of Graft reads.
var ownCosts = map[string]float64{
	"base64.encode": 0.1,
	"base64.decode": 0.1,
	"sha256":        0.2,
	"quote":         0.2,
	"toJSON":        2,
	"toYAML":        20,
}

// worstLength is the length of anything that a request may contain: the default of webhook.maxReviewBytes.
const worstLength = 8 << 20

// assumed holds the sizes of values with only a known type.
type assumed struct {
	// unknown is the size of all values; 0 means that it depends on the type.
	unknown uint64
}

// EstimateSize implements checker.CostEstimator.
func (a assumed) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	switch kind := node.Type().Kind(); {
	case !slices.Contains(sized, kind):
		return nil
	case a.unknown > 0:
		return &checker.SizeEstimate{Max: a.unknown}
	case kind == types.StringKind:
		return &checker.SizeEstimate{Max: assumedLength}
	case kind == types.BytesKind:
		return &checker.SizeEstimate{Max: assumedBytes}
	}
	return &checker.SizeEstimate{Max: assumedItems}
}

// sized are the kinds of values that may have any size.
var sized = []types.Kind{
	types.ListKind, types.MapKind, types.StringKind, types.BytesKind, types.DynKind, types.AnyKind, types.TypeParamKind, types.StructKind,
	types.OpaqueKind,
}

// EstimateCallCost implements checker.CostEstimator.
func (assumed) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
