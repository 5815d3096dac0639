// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// The objects that expressions see. What stands in objects of the cluster has no type: has() and ?. say what is there.
var (
	kindType = expression.NewObject("graft.Kind", map[string]*cel.Type{
		"group": cel.StringType, "version": cel.StringType, "kind": cel.StringType,
	})
	memberType = expression.NewObject("graft.Member", map[string]*cel.Type{
		"cluster": cel.StringType, "status": cel.DynType, "applied": cel.BoolType, "message": cel.StringType, "health": cel.StringType,
	})
)

// Variables are what the expressions of an operation see, but item, which those beside a forEach see too.
func Variables(operation interpreter.Operation) []expression.Variable {
	variables := []expression.Variable{{Name: "object", Type: cel.DynType}, {Name: "kind", Object: kindType}}
	switch operation {
	case interpreter.Revise:
		return append(variables, expression.Variable{Name: "replicas", Type: cel.IntType})
	case interpreter.Retain:
		return append(variables, expression.Variable{Name: "observed", Type: cel.DynType})
	case interpreter.Aggregate:
		members := expression.Variable{Name: "members", Object: memberType, Type: cel.ListType(memberType.Type())}
		return append(variables, members)
	default:
		return variables
	}
}

// Repeats says whether the rules of an operation have a forEach.
func Repeats(operation interpreter.Operation) bool {
	return operation == interpreter.Components || operation == interpreter.Dependencies
}

// ItemVariables are what expressions see of the items of a list, beside forEach or items; none where an operation has neither.
func ItemVariables(operation interpreter.Operation) []expression.Variable {
	item := expression.Variable{Name: "item", Type: cel.DynType}
	switch {
	case Repeats(operation):
		return []expression.Variable{item}
	case operation == interpreter.Retain:
		return []expression.Variable{item, {Name: "observedItem", Type: cel.DynType}}
	default:
		return nil
	}
}

// scope compiles the expressions of an operation: alone, and beside a forEach or items.
type scope struct{ plain, each *expression.Environment }

var theScopes = sync.OnceValues(func() (map[interpreter.Operation]scope, error) {
	scopes := map[interpreter.Operation]scope{}
	for _, operation := range interpreter.Operations() {
		plain, err := expression.NewEnvironment(Variables(operation)...)
		if err != nil {
			return nil, err
		}
		each := plain
		if item := ItemVariables(operation); len(item) > 0 {
			if each, err = plain.Extend(item...); err != nil {
				return nil, err
			}
		}
		scopes[operation] = scope{plain, each}
	}
	return scopes, nil
})
