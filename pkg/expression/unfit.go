// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/interpreter"
)

// unfit says which types a part of the expression was given that it does not take. It looks at the values of its operands once more, and says nothing of
// them but their types.
func (p *program) unfit(ctx context.Context, vars interpreter.Activation, node ast.Expr) string {
	switch node.Kind() {
	case ast.ComprehensionKind:
		return sayIteration(p.typeOf(ctx, vars, node.AsComprehension().IterRange()))
	case ast.SelectKind:
		over := p.typeOf(ctx, vars, node.AsSelect().Operand())
		return fmt.Sprintf("%s has no field %s", called(over), node.AsSelect().FieldName())
	case ast.CallKind:
	default: // CEL does not say where: this is where the items are collected
		return p.nameAt(node) + ": an operator or a function is given an item of a type that it does not take"
	}
	call := node.AsCall()
	m := misfit{function: call.FunctionName(), member: call.IsMemberFunction()}
	operands := call.Args()
	if m.member {
		operands = append([]ast.Expr{call.Target()}, operands...)
	}
	if macro := p.macroAt(node); macro != "" {
		return macro + " asks for a bool of each item, and is given something else"
	}
	for _, operand := range operands {
		m.given = append(m.given, p.typeOf(ctx, vars, operand))
	}
	return p.environment.say(m)
}

// iteration is the first part that goes through what has no items, or nil.
func (p *program) iteration(ctx context.Context, vars interpreter.Activation) ast.Expr {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(p.ast.NativeRep()), ast.KindMatcher(ast.ComprehensionKind)) {
		if over := p.typeOf(ctx, vars, e.AsComprehension().IterRange()); over != "" && word(over) != "list" && word(over) != "map" {
			return e
		}
	}
	return nil
}

// macroAt is the macro, such as filter, of which an operator is a part that nobody wrote; "" for one that was written.
func (p *program) macroAt(node ast.Expr) string {
	symbol, isOperator := operators.FindReverse(node.AsCall().FunctionName())
	rest := p.expressionText()[p.offsetOf(node):]
	if !isOperator || rest == "" || symbol != "" && strings.HasPrefix(rest, symbol) || strings.ContainsRune("?[", rune(rest[0])) {
		return ""
	}
	return p.nameAt(node)
}

// nameAt is the name of the function of which a node is a part.
func (p *program) nameAt(node ast.Expr) string {
	text, offset := p.expressionText(), p.offsetOf(node)
	if offset < len(text) && text[offset] == '(' {
		return text[nameBefore(text, offset):offset]
	}
	from := nameAfter(text, offset)
	to := from
	for to < len(text) && isWord(text[to]) {
		to++
	}
	return text[from:to]
}

// offsetOf is where CEL says that a node is, in the text of the expression.
func (p *program) offsetOf(node ast.Expr) int {
	text := p.expressionText()
	return min(offsetOf(text, p.ast.NativeRep().SourceInfo().GetStartLocation(node.ID())), len(text))
}

// typeOf is the type of what a part has as its value; empty where it has none by itself, as a part that is about an item of a list.
func (p *program) typeOf(ctx context.Context, vars interpreter.Activation, e ast.Expr) string {
	native := p.ast.NativeRep()
	if known := native.GetType(e.ID()); known != nil && known.Kind() != cel.DynKind {
		return cel.FormatCELType(known)
	}
	part := p.operand(e)
	if part == nil {
		return ""
	}
	value, err := part.once(ctx, vars)
	if err != nil {
		return ""
	}
	return value.Type().TypeName()
}

// operand is a part of the expression as a program; nil where it is none by itself. It is planned when it is first asked for, as an expression that fails
// for one object mostly fails for many.
func (p *program) operand(e ast.Expr) *program {
	if planned, there := p.operands.Load(e.ID()); there {
		return planned.(*program)
	}
	native, part := p.ast.NativeRep(), p.shell()
	part.references, part.every = inspect(p.environment.variables, e)
	checked := ast.NewCheckedAST(ast.NewAST(e, native.SourceInfo()), native.TypeMap(), native.ReferenceMap())
	var err error
	if part.run, err = part.plan(p.environment.env, checked); err != nil {
		part = nil
	}
	p.operands.Store(e.ID(), part)
	return part
}
