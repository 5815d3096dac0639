// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The types of which there is more to say.
const (
	absentType   = "optional_type"
	versionType  = "kubernetes.Semver"
	quantityType = "kubernetes.Quantity"
)

// remedy says what was probably meant by types that do not go together, or by a type that does not fit; "" where that is not known.
func remedy(given ...string) string {
	has := func(wanted ...string) bool {
		return slices.ContainsFunc(given, func(t string) bool { return slices.Contains(wanted, word(t)) })
	}
	switch {
	case has(absentType):
		return remedyOfAbsent(given)
	case has("null", "null_type"):
		return "; whether something is null is asked by == null"
	case len(given) == 2 && has(versionType) && has("string"):
		return `; a version is compared by satisfies, such as shoot.kubernetes.satisfies(">= 1.34")`
	case has(quantityType):
		return "; quantities are added by add, and compared by compareTo, isGreaterThan and isLessThan"
	case len(given) == 2:
		return conversion(has)
	}
	return ""
}

// conversion says how one of two simple types is made of the other; "" where they are others.
func conversion(has func(...string) bool) string {
	switch {
	case has("string") && has("int", "uint", "double"):
		return "; string(…) makes a string of a number, int(…) a number of a string"
	case has("string") && has("bool"):
		return "; string(…) makes a string of a bool"
	case has("int", "uint") && has("double"):
		return "; double(…) and int(…) make one of the other"
	case has("int") && has("uint"):
		return "; int(…) and uint(…) make one of the other"
	}
	return ""
}

// remedyOfAbsent says how what may be absent is used; "" where nothing may be.
func remedyOfAbsent(given []string) string {
	if slices.ContainsFunc(given, func(t string) bool { return word(t) == absentType }) {
		return "; say what it is when it is absent, with .orValue(…)"
	}
	return ""
}

// suggest says which of the known names was probably meant; of variables, which there are where none is near.
func (e *Environment) suggest(name string, known []string) string {
	if where := e.elsewhere[name]; where != "" {
		return "; " + where
	}
	if suggestion := source.Suggest(name, known); suggestion != "" {
		return suggestion
	}
	_, hasObject := e.variables["object"]
	switch {
	case macros[name] != "":
		return "; it is written " + macros[name]
	case !slices.Equal(known, e.Variables()):
		return ""
	case name == "self" && hasObject:
		return ` (did you mean "object"?)`
	}
	return thereAre(known)
}

// suggestField says which of the known fields was probably meant, or which there are. Names with __ are Graft's own, and no author writes them.
func suggestField(name string, known []string) string {
	if suggestion := source.Suggest(name, known); suggestion != "" {
		return suggestion
	}
	known = slices.DeleteFunc(slices.Clone(known), func(field string) bool { return strings.Contains(field, "__") })
	return thereAre(slices.Compact(slices.Sorted(slices.Values(known))))
}

// thereAre says which names there are, if any.
func thereAre(known []string) string {
	switch len(known) {
	case 0:
		return ""
	case 1:
		return "; there is only " + known[0]
	}
	return "; " + source.ThereAre(known)
}

// macros are functions that take a name for each item, and how they are called.
var macros = map[string]string{
	operators.All: "list.all(x, x > 0)", operators.Exists: "list.exists(x, x > 0)", operators.ExistsOne: "list.exists_one(x, x > 0)",
	operators.Filter: "list.filter(x, x > 0)", operators.Map: "list.map(x, x + 1)", operators.Has: "has(object.field)",
}

// plainly says in other words what CEL says of other mistakes that are made often.
func plainly(message string) string {
	if m := otherType.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("must be %s, is %s%s", called(m[1]), called(m[2]), remedy(m[2]))
	}
	if m := notIterable.FindStringSubmatch(message); m != nil {
		return sayIteration(m[1])
	}
	if m := foreignToken.FindStringSubmatch(message); m != nil {
		return "syntax error: " + m[1] + " is written " + foreignTokens[m[1]]
	}
	if strings.HasPrefix(message, "invalid argument to has() macro") {
		return "has asks for a field of something, such as has(object.field)"
	}
	return message
}

var (
	otherType   = regexp.MustCompile(`^expected type '([^']+)' but found '([^']+)'$`)
	notIterable = regexp.MustCompile(`^expression of type '([^']+)' cannot be range of a comprehension`)
	// foreignToken is an operator of other languages.
	foreignToken  = regexp.MustCompile(`^syntax error: (?:token recognition error at:|mismatched input|extraneous input) '(and|or|not|=~|=|&|\|)\s*'`)
	foreignTokens = map[string]string{"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&", "|": "||", "=~": "as a function: text.matches(pattern)"}
)

// howToRead says how a key is read that may be missing, in the way in which the expression names it, and what could stand in its place.
func (p *program) howToRead(name string) string {
	way := ""
	for _, e := range ast.MatchDescendants(ast.NavigateAST(p.ast.NativeRep()), ast.AllMatcher()) {
		switch {
		case e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == name:
			way = ".?" + name
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index:
			key, ok := literalString(e.AsCall().Args()[1])
			if !ok || key != name {
				continue
			}
			way = fmt.Sprintf("[?%q]", name)
		default:
			continue
		}
		for parent, ok := e.Parent(); ok && parent.Kind() == ast.SelectKind; parent, ok = e.Parent() {
			e = parent
			way += ".?" + e.AsSelect().FieldName() // what is below it is missing then, too
		}
		way = fmt.Sprintf("; what may be missing is read as %s.orValue(%s)", way, p.wanted(e))
	}
	return way
}

// unknown stands for a value of which nothing is known.
const unknown = "…"

// wanted is a value that fits where an expression stands; unknown where anything could.
func (p *program) wanted(e ast.NavigableExpr) string {
	if known := zero(e.Type()); known != unknown {
		return known
	}
	parent, ok := e.Parent()
	switch {
	case !ok:
		return zero(p.takes)
	case parent.Kind() == ast.ComprehensionKind && parent.AsComprehension().IterRange().ID() == e.ID():
		return "[]"
	case parent.Kind() != ast.CallKind:
		return unknown
	}
	call := parent.AsCall()
	switch name := call.FunctionName(); name {
	case operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr:
		return "false"
	case operators.Conditional:
		if call.Args()[0].ID() == e.ID() {
			return "false"
		}
		return p.wanted(parent)
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Add:
		for _, other := range parent.Children() {
			if known := zero(other.Type()); known != unknown {
				return known
			}
		}
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
		return "0"
	case "string", "startsWith", "endsWith", "contains", "matches":
		return `""`
	}
	return unknown
}

// zero is the value of a type that says least.
func zero(t *types.Type) string {
	if t == nil {
		return unknown
	}
	switch t.Kind() {
	case types.StringKind:
		return `""`
	case types.IntKind, types.UintKind, types.DoubleKind:
		return "0"
	case types.BoolKind:
		return "false"
	}
	return unknown
}
