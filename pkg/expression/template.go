// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Piece is a part of a template: literal text, or a checked CEL expression.
type Piece struct {
	Literal string
	// Syntax is nil for text.
	Syntax *ast.AST
}

// Syntax returns the checked syntax tree of the condition for a translation to another language. It must not be
// changed.
func (x *Expression) Syntax() *ast.AST { return x.program.ast.NativeRep() }

// Pieces returns the parts of the template in their order. They must not be changed.
func (t *Template) Pieces() []Piece {
	pieces := make([]Piece, len(t.parts))
	for i, part := range t.parts {
		pieces[i].Literal = part.literal
		if part.program != nil {
			pieces[i].Syntax = part.program.ast.NativeRep()
		}
	}
	return pieces
}

// Whole reports whether the template consists of one expression, so that its result has the type of the expression.
func (t *Template) Whole() bool { return t.whole != nil }

// References returns the variables and fields that the condition uses, as dotted paths, sorted.
func (x *Expression) References() []string { return slices.Clone(x.program.references) }

// Constant reports whether the condition uses no variables.
func (x *Expression) Constant() bool { return x.program.value != nil }

// Constant reports whether the template uses no variables.
func (t *Template) Constant() bool { return t.value != nil }

// Type returns the type of the result: that of the expression if the template consists of one expression, or else
// string.
func (t *Template) Type() *cel.Type {
	if t.whole != nil {
		return t.whole.result
	}
	return cel.StringType
}

// Size returns the estimated size of the result.
func (t *Template) Size() Size {
	if t.whole != nil {
		return t.whole.size
	}
	size := Size{Item: 1}
	for _, part := range t.parts {
		size.Length += uint64(len(part.literal))
		if part.program != nil {
			size.Length += part.program.size.Length
		}
	}
	return size
}

// Evaluate computes the result. It ends with the context's error soon after the context does.
func (t *Template) Evaluate(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	switch {
	case t.value != nil:
		return t.value, nil
	case t.whole != nil:
		return t.whole.evaluate(ctx, vars)
	}
	text, err := t.join(ctx, vars)
	if err != nil {
		return nil, err
	}
	return types.String(text), nil
}

func (t *Template) join(ctx context.Context, vars interpreter.Activation) (string, error) {
	return t.write(ctx, vars, func(_ *program, _, computed string) (string, error) { return computed, nil })
}

// Escaped works like String, but escapes each computed part with escape, which also receives the text before it;
// constant text stays unchanged. It also fails if escape does.
func (t *Template) Escaped(ctx context.Context, vars interpreter.Activation, escape func(before, computed string) (string, error)) (string, error) {
	return t.write(ctx, vars, func(_ *program, before, computed string) (string, error) { return escape(before, computed) })
}

// write writes the parts of a text. put writes each computed part, and also receives the text before it.
func (t *Template) write(ctx context.Context, vars interpreter.Activation, put func(p *program, before, computed string) (string, error)) (string, error) {
	var text strings.Builder
	for _, part := range t.parts {
		if part.program == nil {
			text.WriteString(part.literal)
			continue
		}
		value, err := part.program.text(ctx, vars)
		if err != nil {
			return "", err
		}
		escaped, err := put(part.program, text.String(), value)
		if err != nil {
			return "", part.program.failed(err.Error())
		}
		if text.Len()+len(escaped) > maximumValue {
			return "", part.program.exceeds(errTooLarge)
		}
		text.WriteString(escaped)
	}
	return text.String(), t.charge(ctx, text.Len())
}

// charge counts a text or JSON that is made of the template.
func (t *Template) charge(ctx context.Context, size int) error {
	for _, part := range t.parts {
		if part.program != nil {
			return part.program.charge(ctx, size)
		}
	}
	return nil
}

// String computes the result as text: strings, bool, numbers, versions, quantities, addresses and times. Lists, maps
// and null are an error.
func (t *Template) String(ctx context.Context, vars interpreter.Activation) (string, error) {
	if t.value == nil && t.whole != nil {
		text, err := t.whole.text(ctx, vars)
		if err != nil {
			return "", err
		}
		return text, t.whole.charge(ctx, len(text))
	}
	value, err := t.Evaluate(ctx, vars)
	if err != nil {
		return "", err
	}
	if s, ok := value.(types.String); ok {
		return string(s), nil
	}
	return t.whole.textOf(value)
}

// JSON computes the result as JSON with sorted keys; see JSON for how values are written. It fails if an expression
// fails, the result is not JSON, or a limit is exceeded.
func (t *Template) JSON(ctx context.Context, vars interpreter.Activation) ([]byte, error) {
	value, err := t.Evaluate(ctx, vars)
	if err != nil {
		return nil, err
	}
	raw, err := JSON(value)
	if ExceedsLimit(err) {
		return nil, t.whole.exceeds(err)
	}
	if err != nil {
		return nil, t.whole.failed(err.Error())
	}
	return raw, t.charge(ctx, len(raw))
}

// References returns the variables and fields that the template uses, as dotted paths such as shoot.networking.type,
// sorted. A path ends at a function call or a computed index.
func (t *Template) References() []string {
	var all []string
	for _, part := range t.parts {
		if part.program != nil {
			all = append(all, part.program.references...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Certain returns the References without those that are not always evaluated, such as branches of a condition.
func (t *Template) Certain() []string {
	var all []string
	for _, part := range t.parts {
		if part.program != nil {
			i := inspector{variables: part.program.environment.variables, certain: true}
			i.visit(part.program.ast.NativeRep().Expr())
			all = append(all, i.references...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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
	c := partsCompiler{whole: whole, env: env, native: compiled.NativeRep()}
	root, err := c.node(c.native.Expr())
	if err != nil {
		return nil, fmt.Errorf("explaining the expression: %w", err)
	}
	return root, nil
}

type partsCompiler struct {
	whole  *program
	env    *cel.Env
	native *ast.AST
}

// node compiles a part and those below it.
func (c *partsCompiler) node(e ast.Expr) (*node, error) {
	text, err := c.text(e)
	if err != nil {
		return nil, err
	}
	p := c.whole.shell()
	p.result = c.native.GetType(e.ID())
	p.references = p.environment.inspect(e)
	part := ast.NewCheckedAST(ast.NewAST(e, c.native.SourceInfo()), c.native.TypeMap(), c.native.ReferenceMap())
	if p.run, err = planProgram(p, c.env, part); err != nil {
		return nil, err
	}
	n := &node{text: text, position: startOfNode(c.whole, e), program: p}
	for _, inner := range c.below(e, n) {
		below, err := c.node(inner)
		if err != nil {
			return nil, err
		}
		n.below = append(n.below, below)
	}
	return n, nil
}

// text returns a part as CEL writes it, in one line.
func (c *partsCompiler) text(e ast.Expr) (string, error) {
	return parser.Unparse(e, c.native.SourceInfo(), parser.WrapOnColumn(math.MaxInt))
}

// below returns the operands of && || ! and ?:, and describes how they determine the value. Of any other part it returns
// the variables in it with their fields, keys and constant defaults.
func (c *partsCompiler) below(e ast.Expr, n *node) []ast.Expr {
	if e.Kind() == ast.CallKind {
		switch call := e.AsCall(); call.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr:
			n.absorbing = absorbing(call.FunctionName())
			return joined(e, call.FunctionName())
		case operators.Conditional:
			n.branches = true
			return call.Args()
		case operators.LogicalNot:
			return call.Args()
		}
	}
	i := inspector{variables: c.whole.environment.variables}
	i.visit(e)
	seen := map[string]bool{n.text: true}
	return slices.DeleteFunc(i.found, func(reference ast.Expr) bool {
		text, err := c.text(reference)
		double := err == nil && seen[text]
		seen[text] = true
		return double
	})
}

// joined returns the operands of a chain of && or ||, which is a tree in CEL, in their order. It keeps constants,
// because they may be decisive.
func joined(e ast.Expr, function string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, operand := range e.AsCall().Args() {
		all = append(all, joined(operand, function)...)
	}
	return all
}

// startOfNode returns the position of a part.
func startOfNode(p *program, e ast.Expr) source.Position {
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

// Explain evaluates the condition as Bool does and returns the values of all its parts. It fails if a part does not
// compile; one that cannot be evaluated is a Term with Failed.
func (x *Expression) Explain(ctx context.Context, vars interpreter.Activation) (Term, error) {
	term, err := x.program.explainTerms(ctx, vars)
	if err != nil || term.Value == nil {
		return term, err
	}
	if _, ok := term.Value.(types.Bool); !ok {
		term.Failed = x.program.failed("a condition must be bool, is " + term.Value.Type().TypeName())
		term.Value = nil
	}
	return term, nil
}

// explainTerms evaluates a program with its parts.
func (p *program) explainTerms(ctx context.Context, vars interpreter.Activation) (Term, error) {
	root, err := p.compileParts()
	if err != nil {
		return Term{}, err
	}
	return root.evaluate(ctx, vars), nil
}

// evaluate computes the part and then those below it, as far as the evaluation of the whole had to.
func (n *node) evaluate(ctx context.Context, vars interpreter.Activation) Term {
	term := n.term()
	term.Value, term.Failed = n.program.evaluate(ctx, vars)
	if term.Failed != nil {
		term.Value = nil
	}
	decided := false
	for i, below := range n.below {
		if decided || n.branches && i > 0 && !n.takes(term.Terms[0], i) {
			term.Terms = append(term.Terms, below.skipped())
			continue
		}
		inner := below.evaluate(ctx, vars)
		term.Terms = append(term.Terms, inner)
		decided = n.absorbing != nil && inner.Value == n.absorbing
	}
	return term
}

// takes reports whether the condition of a ?: selects the given branch.
func (n *node) takes(condition Term, branch int) bool {
	return condition.Value == types.Bool(branch == 1)
}

func (n *node) term() Term {
	return Term{Text: n.text, Position: n.position, References: n.program.references}
}

// skipped returns the part as not evaluated, without the parts below it.
func (n *node) skipped() Term {
	term := n.term()
	term.Skipped = true
	return term
}

// With returns the text with each expression replaced by a sample, for checks of texts before their values are known.
func (t *Template) With(sample string) string {
	var text strings.Builder
	for _, part := range t.parts {
		if part.program == nil {
			text.WriteString(part.literal)
			continue
		}
		text.WriteString(sample)
	}
	return text.String()
}
