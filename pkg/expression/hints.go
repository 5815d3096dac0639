// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// versionComparison is what CEL says of a version that is compared with a string.
var versionComparison = regexp.MustCompile(
	`^found no matching overload for '_(==|!=|<|<=|>|>=)_' applied to '\((kubernetes\.Semver, string|string, kubernetes\.Semver)\)'`)

// hint says what was probably meant, for mistakes that are made often; "" for others.
func hint(message string) string {
	if versionComparison.MatchString(message) {
		return `; a version is compared by satisfies, such as shoot.kubernetes.satisfies(">= 1.34")`
	}
	return ""
}

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
