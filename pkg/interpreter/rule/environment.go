// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

var (
	kindName    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	versionName = regexp.MustCompile(`^[a-z][a-z0-9]{0,62}$`)
)

// splitVersion takes an apiVersion apart; the version is empty for all of a group.
func splitVersion(text string) (group, version string, ok bool) {
	group, version, found := strings.Cut(text, "/")
	if !found {
		return "", text, versionName.MatchString(text)
	}
	if len(validation.IsDNS1123Subdomain(group)) > 0 {
		return "", "", false
	}
	if version == "*" {
		return group, "", true
	}
	return group, version, versionName.MatchString(version)
}

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

// Summary says in a line what a variable, or the field of an object type that expressions see, is; empty for any other name.
func Summary(name string) string { return summaries[name] }

var summaries = map[string]string{
	"object":               "the object; for `retain` the one that is to be applied, for `status` and `health` that of the member cluster",
	"observed":             "the object as the member cluster has it",
	"replicas":             "the number of replicas that is wanted",
	"members":              "what the member clusters say, by their names",
	"item":                 "the item of the list, beside `forEach` or `items`",
	"observedItem":         "the item with the same key in the object as the member cluster has it, beside `items`",
	"kind":                 "the kind of the object",
	"graft.Kind.group":     "its group; empty for the core group",
	"graft.Kind.version":   "its version",
	"graft.Kind.kind":      "its name",
	"graft.Member.cluster": "the name of the member cluster",
	"graft.Member.status":  "the status that it reflects; `has()` is false where there is none yet",
	"graft.Member.applied": "whether the object was applied there",
	"graft.Member.message": "why it could not be applied; empty where it could",
	"graft.Member.health":  "Healthy, Unhealthy or Unknown",
}
