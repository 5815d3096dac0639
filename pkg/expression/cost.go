// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// maximumCost bounds the estimated cost of an expression in CEL's units, of which one is about 50 ns. It is Kubernetes' own
// limit for one expression (k8s.io/apiserver/pkg/apis/cel, PerCallLimit).
const maximumCost = 1_000_000

// What is assumed of values whose size is not known when an expression is compiled. Facts are small: a shoot has few
// workers, annotations and zones.
const (
	assumedItems  = 100
	assumedLength = 512
	assumedBytes  = 16 << 10
	// assumedReplacements is how often a text is found that is replaced.
	assumedReplacements = 16
)

// maximumEstimate bounds the estimated size of a value. It is larger than maximumValue because few values are as large as assumed.
const maximumEstimate = 64 * maximumValue

// Size is how large a value is estimated to be: the characters of a text, the bytes of bytes, or the number of items, and the size of
// each item.
type Size struct{ Length, Item uint64 }

// Sizes are the sizes of variables and fields, by their dotted paths.
type Sizes map[string]Size

// bound estimates the size of the result and the cost of the expression. A finding says that one of them is too large.
func (e *Environment) bound(p *program) *source.Finding {
	known := newEstimator(assumed{known: e.sizes})
	measured := measuring{estimator: known, size: &p.size}
	estimate, err := e.env.EstimateCost(p.ast, known)
	message := "the cost cannot be estimated"
	if err == nil {
		_, err = checker.Cost(measurable(p.ast.NativeRep()), measured)
	}
	if err == nil {
		var worst checker.CostEstimate
		worst, err = e.env.EstimateCost(p.ast, newEstimator(assumed{unknown: worstLength}))
		p.costly = worst.Max > maximumCost
	}
	switch {
	case err != nil:
	case estimate.Max > maximumCost:
		message = fmt.Sprintf("too costly: an estimate of %d where %d is allowed; "+
			"comprehensions within comprehensions multiply, and so do variables that use others several times",
			estimate.Max, maximumCost)
	case p.size.bytes() > maximumEstimate:
		message = fmt.Sprintf("too large: an estimate of %d MiB where a value may have %d MiB; variables that use others several times multiply",
			p.size.bytes()>>20, maximumValue>>20)
	default:
		return nil
	}
	finding := p.finding(message).Of(TooCostly)
	return &finding
}

// bytes is the size in bytes of a value in which everything is as large as estimated.
func (s Size) bytes() uint64 {
	return checker.FixedSizeEstimate(s.Length).Multiply(checker.FixedSizeEstimate(max(1, s.Item))).Max
}

// measurable returns an expression that has another one as the argument of a call, and the items of that one as a second argument.
func measurable(native *ast.AST) *ast.AST {
	root, factory, id := native.Expr(), ast.NewExprFactory(), ast.MaxID(native)+1
	typeMap, references := maps.Clone(native.TypeMap()), maps.Clone(native.ReferenceMap())
	arguments := []ast.Expr{root}
	items := map[types.Kind]string{types.ListKind: overloads.IndexList, types.MapKind: overloads.IndexMap}
	if overload := items[native.GetType(root.ID()).Kind()]; overload != "" {
		entry := factory.NewCall(id+1, operators.Index, root, factory.NewLiteral(id+2, types.IntZero))
		parameters := native.GetType(root.ID()).Parameters()
		typeMap[id+1], typeMap[id+2] = parameters[len(parameters)-1], types.IntType
		references[id+1] = ast.NewFunctionReference(overload)
		arguments = append(arguments, entry)
	}
	typeMap[id], references[id] = types.IntType, ast.NewFunctionReference(sizeFunction)
	return ast.NewCheckedAST(ast.NewAST(factory.NewCall(id, sizeFunction, arguments...), native.SourceInfo()), typeMap, references)
}

// sizeFunction is the call whose arguments measuring looks at. Expressions cannot name it.
const sizeFunction = "@size"

// measuring notes the size of an expression that is made measurable.
type measuring struct {
	estimator
	size *Size
}

// EstimateCallCost implements checker.CostEstimator.
func (m measuring) EstimateCallCost(function, overload string, target *checker.AstNode, arguments []checker.AstNode) *checker.CallEstimate {
	if function != sizeFunction {
		return m.estimator.EstimateCallCost(function, overload, target, arguments)
	}
	if size := arguments[0].ComputedSize(); size != nil {
		m.size.Length = size.Max
	}
	if len(arguments) > 1 {
		if size := arguments[1].ComputedSize(); size != nil {
			m.size.Item = size.Max
		}
	}
	return &checker.CallEstimate{}
}

// costs is the actual cost of calls.
var costs = newEstimator(assumed{})

// estimator estimates Kubernetes' functions as Kubernetes does and Graft's by the size of what they read.
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

// CallCost implements interpreter.ActualCostEstimator. CEL counts the characters of texts each time, which takes longer than to compare
// them, and takes the items of what is compared for scalars.
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
		if size = min(lengthOf(arguments[:1]), lengthOf(arguments[1:])); size == 0 {
			size = sizeOf(arguments[1], maximumValue) / itemSize * 10
		}
		factor = common.StringTraversalCostFactor
	case function == operators.Add || function == "contains" || function == "startsWith" || function == "endsWith":
		if size = lengthOf(arguments[1:]); function == operators.Add || function == "contains" {
			size += lengthOf(arguments[:1])
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

// worstLength is the length of anything that a request may contain.
const worstLength = 8 << 20

// assumed is how big values are of which only the type is known.
type assumed struct {
	known Sizes
	// unknown is the size of all others; 0: it depends on the type.
	unknown uint64
}

// EstimateSize implements checker.CostEstimator.
func (a assumed) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if size, ok := a.lookUp(node.Path()); ok {
		return &checker.SizeEstimate{Max: size}
	}
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

// lookUp returns the size of a field that is known, or of the items of one.
func (a assumed) lookUp(path []string) (uint64, bool) {
	if len(a.known) == 0 || len(path) == 0 {
		return 0, false
	}
	if last := len(path) - 1; path[last] == "@items" || path[last] == "@values" {
		size, ok := a.known[strings.Join(path[:last], ".")]
		return size.Item, ok && size.Item > 0
	}
	size, ok := a.known[strings.Join(path, ".")]
	return size.Length, ok
}

// EstimateCallCost implements checker.CostEstimator.
func (assumed) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
