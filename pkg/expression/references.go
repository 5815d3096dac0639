// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func inspect(variables map[string]Variable, root ast.Expr) (references []string, every int) {
	i := inspector{variables: variables}
	i.visit(root)
	slices.Sort(i.references)
	return slices.Compact(i.references), i.every
}

type inspector struct {
	variables  map[string]Variable
	local      []string // variables of the comprehensions around
	references []string
	every      int
	// certain excludes parts that are not always evaluated: operands of && and ||, the branches of ?: and bodies of
	// macros.
	certain bool
	// found collects the parts that are references; it may be nil.
	found *[]ast.Expr
}

func (i *inspector) visit(e ast.Expr) {
	if path := i.path(e); path != nil {
		i.references = append(i.references, strings.Join(path, "."))
		if i.found != nil {
			*i.found = append(*i.found, e)
		}
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		i.visit(e.AsSelect().Operand())
	case ast.CallKind:
		i.visitCall(e.AsCall())
	case ast.ListKind:
		i.visitAll(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			i.visit(entry.AsMapEntry().Key())
			i.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			i.visit(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		i.visitComprehension(e.AsComprehension())
	}
}

func (i *inspector) visitCall(call ast.CallExpr) {
	arguments := call.Args()
	switch name := call.FunctionName(); {
	case !i.certain:
	case name == operators.LogicalAnd || name == operators.LogicalOr:
		return
	case name == operators.Conditional:
		arguments = arguments[:1]
	}
	if call.IsMemberFunction() {
		i.visit(call.Target())
	}
	i.visitAll(arguments)
}

func (i *inspector) visitAll(all []ast.Expr) {
	for _, e := range all {
		i.visit(e)
	}
}

func (i *inspector) visitComprehension(c ast.ComprehensionExpr) {
	if every := looks(c); i.every == 0 || every < i.every {
		i.every = every
	}
	i.visit(c.IterRange())
	if i.certain {
		return
	}
	i.visit(c.AccuInit())
	outer := len(i.local)
	i.local = append(i.local, c.IterVar(), c.IterVar2(), c.AccuVar())
	i.visit(c.LoopCondition())
	i.visit(c.LoopStep())
	i.visit(c.Result())
	i.local = i.local[:outer]
}

// path returns the variable with its fields if e consists only of them, or nil.
func (i *inspector) path(e ast.Expr) []string {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if _, ok := i.variables[name]; ok && !slices.Contains(i.local, name) {
			return []string{name}
		}
	case ast.SelectKind:
		if path := i.path(e.AsSelect().Operand()); path != nil {
			return append(path, e.AsSelect().FieldName())
		}
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.Index, operators.OptIndex:
			if key, ok := literalString(call.Args()[1]); ok && source.IsIdentifier(key) {
				if path := i.path(call.Args()[0]); path != nil {
					return append(path, key)
				}
			}
		}
	}
	return nil
}
