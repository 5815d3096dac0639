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
	kindForm    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	versionForm = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
)

// isKind reports whether a text is the kind of an API, and isVersionName whether it is a version of one.
func isKind(text string) bool {
	return len(text) <= validation.DNS1123LabelMaxLength && kindForm.MatchString(text)
}

func isVersionName(text string) bool {
	return len(text) <= validation.DNS1123LabelMaxLength && versionForm.MatchString(text)
}

// splitVersion splits an apiVersion. The version is empty for all versions of a group (group/*).
func splitVersion(text string) (group, version string, ok bool) {
	group, version, found := strings.Cut(text, "/")
	if !found {
		return "", text, isVersionName(text)
	}
	if len(validation.IsDNS1123Subdomain(group)) > 0 {
		return "", "", false
	}
	if version == "*" {
		return group, "", true
	}
	return group, version, isVersionName(version)
}

// The object types of expressions. Kubernetes objects themselves are untyped: use has() and ?. to test fields.
var (
	kindType = expression.NewObjectType("graft.Kind", map[string]*cel.Type{
		"group": cel.StringType, "version": cel.StringType, "kind": cel.StringType,
	})
	memberType = expression.NewObjectType("graft.Member", map[string]*cel.Type{
		"cluster": cel.StringType, "status": cel.DynType, "applied": cel.BoolType, "message": cel.StringType, "health": cel.StringType,
	})
)

// Variables returns the variables of an operation's expressions, without those of items.
func Variables(operation interpreter.Operation) []expression.Variable {
	variables := []expression.Variable{{Name: "object", Type: cel.DynType}, {Name: "kind", Object: kindType}}
	switch operation {
	case interpreter.Revise:
		return append(variables, expression.Variable{Name: "replicas", Type: cel.IntType})
	case interpreter.Retain:
		return append(variables, expression.Variable{Name: "observed", Type: cel.DynType})
	case interpreter.Aggregate:
		return append(variables, expression.Variable{Name: "members", Object: memberType, Type: cel.ListType(memberType.Type())})
	default:
		return variables
	}
}

// Repeats reports whether the rules of an operation support forEach.
func Repeats(operation interpreter.Operation) bool {
	return operation == interpreter.Components || operation == interpreter.Dependencies
}

// ItemVariables returns the additional variables of rules with forEach or items, or none if the operation has
// neither.
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

// scope has the environments of an operation: without items, and with forEach or items.
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

// Summary returns a one-line description of a variable or of a field of an object type, or "" for other names.
func Summary(name string) string { return summaries[name] }

var summaries = map[string]string{
	"object":               "the object; for `retain` the desired one, for `status` and `health` that of the member cluster",
	"observed":             "the object in the member cluster",
	"replicas":             "the desired number of replicas",
	"members":              "the statuses of the member clusters, sorted by name",
	"item":                 "the item of the list, with `forEach` or `items`",
	"observedItem":         "the item with the same key in the member cluster's object, with `items`",
	"kind":                 "the kind of the object",
	"graft.Kind.group":     "its group; empty for the core group",
	"graft.Kind.version":   "its version",
	"graft.Kind.kind":      "its name",
	"graft.Member.cluster": "the name of the member cluster",
	"graft.Member.status":  "the status that it reflects; `has()` is false if there is none yet",
	"graft.Member.applied": "whether the object was applied there",
	"graft.Member.message": "the reason why it could not be applied; otherwise empty",
	"graft.Member.health":  "Healthy, Unhealthy or Unknown",
}
