// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
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
)

func (e *Environment) boundCost(p *program) *source.Finding {
	estimate, err := e.env.EstimateCost(p.ast, costs)
	if err == nil && estimate.Max <= maximumCost {
		return nil
	}
	message := "the cost cannot be estimated"
	if err == nil {
		message = fmt.Sprintf("too costly: an estimate of %d where %d is allowed; comprehensions within comprehensions multiply", estimate.Max, maximumCost)
	}
	finding := p.finding(message).Of(TooCostly)
	return &finding
}

// costs estimates Kubernetes' functions as Kubernetes does and Graft's by the size of what they read.
var costs = estimator{kubernetes: &library.CostEstimator{SizeEstimator: sizes{}}}

type estimator struct {
	kubernetes *library.CostEstimator
}

// EstimateSize implements checker.CostEstimator.
func (e estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	return sizes{}.EstimateSize(node)
}

// EstimateCallCost implements checker.CostEstimator.
func (e estimator) EstimateCallCost(function, overload string, target *checker.AstNode, arguments []checker.AstNode) *checker.CallEstimate {
	factor, ok := ownCosts[function]
	if !ok || len(arguments) == 0 {
		return e.kubernetes.EstimateCallCost(function, overload, target, arguments)
	}
	size := arguments[0].ComputedSize()
	if size == nil {
		size = e.EstimateSize(arguments[0])
	}
	if size == nil {
		size = &checker.SizeEstimate{Max: 1}
	}
	result := size.Multiply(checker.FixedSizeEstimate(2))
	return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(factor), ResultSize: &result}
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

// sizes assumes how big a value is by its type.
type sizes struct{}

// EstimateSize implements checker.CostEstimator.
func (sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	switch node.Type().Kind() {
	case types.ListKind, types.MapKind:
		return &checker.SizeEstimate{Max: assumedItems}
	case types.StringKind:
		return &checker.SizeEstimate{Max: assumedLength}
	case types.BytesKind:
		return &checker.SizeEstimate{Max: assumedBytes}
	case types.DynKind, types.AnyKind, types.TypeParamKind:
		return &checker.SizeEstimate{Max: assumedItems}
	case types.StructKind, types.OpaqueKind:
		return &checker.SizeEstimate{Max: assumedItems}
	}
	return nil
}

// EstimateCallCost implements checker.CostEstimator.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
