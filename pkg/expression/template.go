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
	pieces := make([]Piece, len(t.segments))
	for i, segment := range t.segments {
		pieces[i].Literal = segment.literal
		if segment.program != nil {
			pieces[i].Syntax = segment.program.ast.NativeRep()
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

// Evaluate computes the result. It ends with the context's error soon after the context does.
func (t *Template) Evaluate(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	switch {
	case t.value != nil:
		return t.value, nil
	case t.whole != nil:
		return t.whole.evaluate(ctx, vars)
	}
	text, err := t.Escaped(ctx, vars, func(_, computed string) (string, error) { return computed, nil })
	if err != nil {
		return nil, err
	}
	return types.String(text), nil
}

// Escaped works like String, but escapes each computed part with escape, which also receives the text before it;
// constant text stays unchanged. It also fails if escape does.
func (t *Template) Escaped(ctx context.Context, vars interpreter.Activation, escape func(before, computed string) (string, error)) (string, error) {
	text, err := t.join(func(p *compiledExpression, before string) (string, error) {
		value, err := p.evaluate(ctx, vars)
		if err != nil {
			return "", err
		}
		computed, err := Text(value)
		if err != nil {
			return "", p.failed(err)
		}
		escaped, err := escape(before, computed)
		switch {
		case err != nil:
			return "", p.failed(err)
		case len(before)+len(escaped) > maximumValue:
			return "", p.failed(errTooLarge)
		}
		return escaped, nil
	})
	if err != nil {
		return "", err
	}
	return text, t.first().charge(ctx, len(text))
}

// join returns the constant text with the text of each expression, which it makes after the text before it.
func (t *Template) join(compute func(p *compiledExpression, before string) (string, error)) (string, error) {
	var text strings.Builder
	for _, segment := range t.segments {
		next := segment.literal
		if segment.program != nil {
			var err error
			if next, err = compute(segment.program, text.String()); err != nil {
				return "", err
			}
		}
		text.WriteString(next)
	}
	return text.String(), nil
}

// first returns the first expression, which has the position of errors about the whole template, or nil.
func (t *Template) first() *compiledExpression {
	for _, segment := range t.segments {
		if segment.program != nil {
			return segment.program
		}
	}
	return nil
}

// String computes the result as text: strings, bool, numbers, versions, quantities, addresses and times. Lists, maps
// and null are an error.
func (t *Template) String(ctx context.Context, vars interpreter.Activation) (string, error) {
	value, err := t.Evaluate(ctx, vars)
	if err != nil {
		return "", err
	}
	text, err := Text(value)
	switch {
	case err != nil:
		return "", t.first().failed(err)
	case t.value != nil || t.whole == nil:
		return text, nil // it exists, or is counted
	}
	return text, t.whole.charge(ctx, len(text))
}

// JSON computes the result as JSON with sorted keys; see JSON for how values are written. It fails if an expression
// fails, the result is not JSON, or a limit is exceeded.
func (t *Template) JSON(ctx context.Context, vars interpreter.Activation) ([]byte, error) {
	value, err := t.Evaluate(ctx, vars)
	if err != nil {
		return nil, err
	}
	raw, err := JSON(value)
	if err != nil {
		return nil, t.first().failed(err)
	}
	return raw, t.first().charge(ctx, len(raw))
}

// References returns the variables and fields that the template uses, as dotted paths such as shoot.networking.type,
// sorted. A path ends at a function call or a computed index.
func (t *Template) References() []string {
	var all []string
	for _, segment := range t.segments {
		if segment.program != nil {
			all = append(all, segment.program.references...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Certain returns the References without those that are not always evaluated, such as branches of a condition.
func (t *Template) Certain() []string {
	var all []reference
	for _, segment := range t.segments {
		if segment.program != nil {
			tree := segment.program.ast.NativeRep()
			all = append(all, segment.program.environment.references(tree, tree.Expr())...)
		}
	}
	return pathsOf(slices.DeleteFunc(all, func(r reference) bool { return !r.certain }))
}

// partExplainer evaluates the parts of an expression as it was written: with its macros. Each part has its own program,
// because CEL's record of an evaluation is unreliable: it stores the value found by a computed index under the key's own
// id.
type partExplainer struct {
	ctx   context.Context
	vars  interpreter.Activation
	whole *compiledExpression
}

// explainTerms evaluates a program with its parts.
func (p *compiledExpression) explainTerms(ctx context.Context, vars interpreter.Activation) (Term, error) {
	x := partExplainer{ctx: ctx, vars: vars, whole: p}
	term, err := x.evaluate(p.ast.NativeRep().Expr())
	if err != nil {
		return Term{}, fmt.Errorf("explaining the expression: %w", err)
	}
	return term, nil
}

// evaluate computes a part and then those below it, as far as the evaluation of the whole had to.
func (x *partExplainer) evaluate(e ast.Expr) (Term, error) {
	term, err := x.term(e)
	if err != nil {
		return term, err
	}
	p, tree := x.whole.shell(), x.whole.ast.NativeRep()
	p.result, p.references = tree.GetType(e.ID()), term.References
	part := ast.NewCheckedAST(ast.NewAST(e, tree.SourceInfo()), tree.TypeMap(), tree.ReferenceMap())
	if p.run, err = planProgram(p, p.environment.env, part); err != nil {
		return term, err
	}
	term.Value, term.Failed = p.evaluate(x.ctx, x.vars)
	function := ""
	if e.Kind() == ast.CallKind {
		function = e.AsCall().FunctionName()
	}
	decisive, decided := absorbing(function), false
	for i, part := range x.below(e, function, term.Text) {
		var inner Term
		if decided || function == operators.Conditional && i > 0 && term.Terms[0].Value != types.Bool(i == 1) {
			inner, err = x.term(part)
			inner.Skipped = true
		} else {
			inner, err = x.evaluate(part)
			decided = decisive != nil && inner.Value == decisive
		}
		if err != nil {
			return term, err
		}
		term.Terms = append(term.Terms, inner)
	}
	return term, nil
}

// term describes a part without its value.
func (x *partExplainer) term(e ast.Expr) (Term, error) {
	text, err := x.text(e)
	references := pathsOf(x.whole.environment.references(x.whole.ast.NativeRep(), e))
	return Term{Text: text, Position: x.whole.nodePosition(e), References: references}, err
}

// text returns a part as CEL writes it, in one line.
func (x *partExplainer) text(e ast.Expr) (string, error) {
	return parser.Unparse(e, x.whole.ast.NativeRep().SourceInfo(), parser.WrapOnColumn(math.MaxInt))
}

// below returns the operands of && || ! and ?:. Of any other part it returns the variables in it with their fields, keys
// and constant defaults, each text once.
func (x *partExplainer) below(e ast.Expr, function, text string) []ast.Expr {
	switch function {
	case operators.LogicalAnd, operators.LogicalOr:
		return joined(e, function)
	case operators.Conditional, operators.LogicalNot:
		return e.AsCall().Args()
	}
	seen := map[string]bool{text: true}
	var parts []ast.Expr
	for _, r := range x.whole.environment.references(x.whole.ast.NativeRep(), e) {
		if text, err := x.text(r.part); err != nil || !seen[text] {
			seen[text] = true
			parts = append(parts, r.part)
		}
	}
	return parts
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

// Explain evaluates the condition as Bool does and returns the values of all its parts. It fails if a part does not
// compile; one that cannot be evaluated is a Term with Failed.
func (x *Expression) Explain(ctx context.Context, vars interpreter.Activation) (Term, error) {
	term, err := x.program.explainTerms(ctx, vars)
	if err != nil || term.Value == nil {
		return term, err
	}
	if _, ok := term.Value.(types.Bool); !ok {
		term.Failed = x.program.failed(notBool(term.Value))
		term.Value = nil
	}
	return term, nil
}

// With returns the text with each expression replaced by a sample, for checks of texts before their values are known.
func (t *Template) With(sample string) string {
	text, _ := t.join(func(*compiledExpression, string) (string, error) { return sample, nil })
	return text
}
