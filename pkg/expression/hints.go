// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
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

// howToRead says how a key is read that may be missing, in the way in which the expression names it.
func howToRead(root ast.Expr, name string) string {
	way := ""
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == name:
			way = fmt.Sprintf(`; what may be missing is read as .?%s.orValue("")`, name)
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index:
			if key, ok := literalString(e.AsCall().Args()[1]); ok && key == name {
				way = fmt.Sprintf(`; what may be missing is read as [?%q].orValue("")`, name)
			}
		}
	}))
	return way
}
