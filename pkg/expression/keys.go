// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// keyLiterals reports keys that are written out and that a variable does not have.
type keyLiterals struct {
	variable string
	keys     []string
}

// Name implements cel.ASTValidator.
func (k keyLiterals) Name() string { return "graft.validator.keys." + k.variable }

// Validate implements cel.ASTValidator.
func (k keyLiterals) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		var (
			of  ast.Expr
			key string
			at  = e.ID()
			ok  bool
		)
		switch {
		case e.Kind() == ast.SelectKind:
			of, key, ok = e.AsSelect().Operand(), e.AsSelect().FieldName(), true
		case e.Kind() == ast.CallKind && slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, e.AsCall().FunctionName()):
			of, at = e.AsCall().Args()[0], e.AsCall().Args()[1].ID()
			key, ok = literalString(e.AsCall().Args()[1])
		}
		if ok && of.Kind() == ast.IdentKind && of.AsIdent() == k.variable && !slices.Contains(k.keys, key) {
			issues.ReportErrorAtID(at, "there is no %q among the %s%s", key, k.variable, source.Suggest(key, k.keys))
		}
	}))
}
