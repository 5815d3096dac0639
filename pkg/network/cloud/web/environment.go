// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Types of an allocation in expressions. Empty fields are unset: has() is false, and they read as "" or 0.
var (
	holderObject = expression.NewObject("graft.Holder", map[string]*cel.Type{
		"kind": cel.StringType, "namespace": cel.StringType, "name": cel.StringType, "uid": cel.StringType, "node": cel.StringType, "device": cel.StringType,
	})
	allocationObject = expression.NewObject("graft.Allocation", map[string]*cel.Type{
		"id": cel.StringType, "owner": cel.StringType, "contract": cel.StringType, "pool": cel.StringType, "addresses": cel.ListType(cel.StringType),
		"mac": cel.StringType, "vlan": cel.IntType, "node": cel.StringType, "parent": cel.StringType, "holder": holderObject.Type(),
	}, holderObject)
)

// environments holds the variables for the expressions of a call.
type environments struct {
	// request is for the request, and answer for conditions and for the evaluation of a response.
	request, answer *expression.Environment
}

// forBinding is for calls that bind and find, and forUnbinding for calls that use the binding.
var (
	forBinding   = sync.OnceValues(func() (environments, error) { return newEnvironments() })
	forUnbinding = sync.OnceValues(func() (environments, error) {
		return newEnvironments(expression.Variable{Name: "reference", Type: cel.DynType})
	})
)

func newEnvironments(more ...expression.Variable) (environments, error) {
	request, err := expression.NewEnvironment(append(more, expression.Variable{Name: "allocation", Object: allocationObject})...)
	if err != nil {
		return environments{}, err
	}
	answer, err := request.Extend(
		expression.Variable{Name: "status", Type: cel.IntType},
		expression.Variable{Name: "answer", Type: cel.DynType},
		expression.Variable{Name: "headers", Type: cel.MapType(cel.StringType, cel.StringType)},
	)
	return environments{request, answer}, err
}
