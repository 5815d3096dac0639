// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"math"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// node is a part of an expression that explanations show. It has a program of its own, as CEL's record of an evaluation cannot be
// relied on: it puts what an index computed at a key finds where the value of the key belongs.
type node struct {
	text     string
	position source.Position
	program  *program
	below    []*node
	// absorbing is the value of one part that decides the whole; branches says that the first part chooses one of the two others.
	absorbing ref.Val
	branches  bool
	// each is what a macro such as exists asks of each item; nil for others.
	each *each
	// items are the references of what the items around the part are of.
	items []string
}

// partsOf compiles the parts of the program once.
func (p *program) partsOf() (*node, error) {
	p.explaining.Do(func() { p.parts, p.partsError = p.compileParts() })
	return p.parts, p.partsError
}

// compileParts compiles the expression once more, so that it can be written part by part as it was: with its macros.
func (p *program) compileParts() (*node, error) {
	env, err := p.environment.written()
	if err != nil {
		return nil, fmt.Errorf("explaining the expression: %w", err)
	}
	compiled, issues := env.Compile(p.expressionText())
	if issues.Err() != nil {
		return nil, fmt.Errorf("explaining the expression: %w", issues.Err())
	}
	whole := p.shell()
	whole.ast = compiled
	c := partsCompiler{whole: whole, env: env, native: compiled.NativeRep(), variables: p.environment.variables}
	root, err := c.node(c.native.Expr())
	if err != nil {
		return nil, fmt.Errorf("explaining the expression: %w", err)
	}
	return root, nil
}

// shell is what a program of a part has of the whole.
func (p *program) shell() *program {
	return &program{origin: p.origin, offset: p.offset, ast: p.ast, environment: p.environment, costly: p.costly}
}

// written is the environment of which compiled expressions know the macros that they were written with. It is made when it is first
// needed, as nothing but explanations needs it.
func (e *Environment) written() (*cel.Env, error) {
	e.once.Do(func() { e.macros, e.macrosError = e.env.Extend(cel.EnableMacroCallTracking()) })
	return e.macros, e.macrosError
}

type partsCompiler struct {
	whole  *program
	env    *cel.Env
	native *ast.AST
	// variables are those of the environment, and those of the macros around the part.
	variables map[string]Variable
	items     []string
}

// node compiles a part and those below it.
func (c *partsCompiler) node(e ast.Expr) (*node, error) {
	text, err := parser.Unparse(e, c.native.SourceInfo(), parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		return nil, err
	}
	p := c.whole.shell()
	p.result = c.native.GetType(e.ID())
	p.references, p.every = inspect(c.variables, e)
	part := ast.NewCheckedAST(ast.NewAST(e, c.native.SourceInfo()), c.native.TypeMap(), c.native.ReferenceMap())
	if p.run, err = p.plan(c.env, part); err != nil {
		return nil, err
	}
	n := &node{text: text, position: c.whole.startOf(e), program: p, items: c.items}
	for _, inner := range c.below(e, n) {
		below, err := c.node(inner)
		if err != nil {
			return nil, err
		}
		n.below = append(n.below, below)
	}
	n.each, err = c.each(e)
	return n, err
}

// below are the parts that had a say in one, without constants, and says of && || and ?: how they do.
func (c *partsCompiler) below(e ast.Expr, n *node) []ast.Expr {
	switch {
	case c.isChain(e):
		return nil
	case c.asks(e):
		return c.varying([]ast.Expr{e.AsComprehension().IterRange()})
	case c.isMacro(e):
		return c.paths(e)
	case e.Kind() != ast.CallKind:
		return c.varying(c.operands(e))
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		n.absorbing = absorbing(call.FunctionName())
		return c.joined(e, call.FunctionName())
	case operators.Conditional:
		n.branches = true
		return call.Args()
	case operators.LogicalNot:
		return c.varying(call.Args())
	}
	operands := c.varying(c.operands(e))
	if c.isBool(e) {
		return operands
	}
	// Of what is computed for a comparison, only the variables are told.
	var leaves []ast.Expr
	for _, operand := range operands {
		leaves = append(leaves, c.leaves(operand)...)
	}
	return c.once(leaves)
}

// joined are the operands of a chain of && or ||, which CEL makes a tree of, in their order. Constants stay: they may decide.
func (c *partsCompiler) joined(e ast.Expr, function string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, operand := range e.AsCall().Args() {
		all = append(all, c.joined(operand, function)...)
	}
	return all
}

// leaves are the variables in a part, with the conditions in it as a whole.
func (c *partsCompiler) leaves(e ast.Expr) []ast.Expr {
	if c.isChain(e) || c.isMacro(e) || c.isBool(e) {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, operand := range c.varying(c.operands(e)) {
		all = append(all, c.leaves(operand)...)
	}
	return all
}

// operands are what a part is directly made of.
func (c *partsCompiler) operands(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			return append([]ast.Expr{e.AsCall().Target()}, e.AsCall().Args()...)
		}
		return e.AsCall().Args()
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	}
	return nil
}

// paths are the variables of a comprehension that are not its own.
func (c *partsCompiler) paths(e ast.Expr) []ast.Expr {
	i := inspector{variables: c.variables, found: &[]ast.Expr{}}
	i.visit(e)
	return c.once(*i.found)
}

// varying leaves out constants and what stands there already.
func (c *partsCompiler) varying(all []ast.Expr) []ast.Expr {
	return c.once(slices.DeleteFunc(slices.Clone(all), func(e ast.Expr) bool {
		references, _ := inspect(c.variables, e)
		return len(references) == 0
	}))
}

// once leaves out parts that are written like an earlier one.
func (c *partsCompiler) once(all []ast.Expr) []ast.Expr {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(e ast.Expr) bool {
		text, err := parser.Unparse(e, c.native.SourceInfo(), parser.WrapOnColumn(math.MaxInt))
		double := err == nil && seen[text]
		seen[text] = true
		return double
	})
}

// isMacro says whether a part was written as a macro with variables of its own, such as exists.
func (c *partsCompiler) isMacro(e ast.Expr) bool {
	_, ok := c.native.SourceInfo().GetMacroCall(e.ID())
	return ok || e.Kind() == ast.ComprehensionKind
}

func (c *partsCompiler) isBool(e ast.Expr) bool {
	t := c.native.GetType(e.ID())
	return t != nil && t.IsExactType(cel.BoolType)
}

// isChain says whether a part is a variable with fields and constant keys behind it, and what an absent one stands for.
func (c *partsCompiler) isChain(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return c.isChain(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.Index, operators.OptIndex:
			return call.Args()[1].Kind() == ast.LiteralKind && c.isChain(call.Args()[0])
		case "orValue", "hasValue", "value":
			return call.IsMemberFunction() && c.isChain(call.Target()) && len(c.varying(call.Args())) == 0 &&
				c.native.GetType(call.Target().ID()).TypeName() == types.OptionalType.TypeName()
		}
	}
	return false
}

// startOf is where the text of a part begins.
func (p *program) startOf(e ast.Expr) source.Position {
	text, first := p.expressionText(), -1
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(inner ast.Expr) {
		at := p.ast.NativeRep().SourceInfo().GetStartLocation(inner.ID())
		if at.Line() == 0 {
			return
		}
		offset := offsetOf(text, at)
		if offset < len(text) && text[offset] == '(' {
			offset = callBefore(text, offset)
		}
		if first < 0 || offset < first {
			first = offset
		}
	}))
	if first < 0 {
		return p.origin.position(p.offset)
	}
	return p.origin.position(p.offset - leadingSpace(text) + first)
}

// callBefore moves from the parenthesis of a call to the beginning of its name, which may have a dot in it.
func callBefore(text string, offset int) int {
	before := nameBefore(text, offset)
	if before > 0 && before < offset && text[before-1] == '.' {
		return nameBefore(text, before-1)
	}
	return before
}
