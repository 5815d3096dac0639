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
		escaped, err := escape(text.String(), value)
		if err != nil {
			return "", part.program.failed(err.Error(), nil)
		}
		if text.Len()+len(escaped) > maximumValue {
			return "", part.program.failed(errTooLarge.Error(), errTooLarge)
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
		return nil, t.whole.failed(err.Error(), err)
	}
	if err != nil {
		return nil, t.whole.failed(err.Error(), nil)
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

// partExplainer evaluates the parts of an expression as it was written: with its macros. Each part has its own program,
// because CEL's record of an evaluation is unreliable: it stores the value found by a computed index under the key's own
// id.
type partExplainer struct {
	ctx    context.Context
	vars   interpreter.Activation
	whole  *program
	env    *cel.Env
	native *ast.AST
}

// explainTerms evaluates a program with its parts. It compiles the expression once more, to keep its macros.
func (p *program) explainTerms(ctx context.Context, vars interpreter.Activation) (Term, error) {
	env, err := p.environment.written()
	if err != nil {
		return Term{}, fmt.Errorf("explaining the expression: %w", err)
	}
	compiled, issues := env.Compile(p.expressionText())
	if issues.Err() != nil {
		return Term{}, fmt.Errorf("explaining the expression: %w", issues.Err())
	}
	whole := p.shell()
	whole.ast = compiled
	x := partExplainer{ctx: ctx, vars: vars, whole: whole, env: env, native: compiled.NativeRep()}
	term, err := x.evaluate(x.native.Expr())
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
	p := x.whole.shell()
	p.result, p.references = x.native.GetType(e.ID()), term.References
	part := ast.NewCheckedAST(ast.NewAST(e, x.native.SourceInfo()), x.native.TypeMap(), x.native.ReferenceMap())
	if p.run, err = planProgram(p, x.env, part); err != nil {
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
	return Term{Text: text, Position: startOfNode(x.whole, e), References: x.whole.environment.inspect(e)}, err
}

// text returns a part as CEL writes it, in one line.
func (x *partExplainer) text(e ast.Expr) (string, error) {
	return parser.Unparse(e, x.native.SourceInfo(), parser.WrapOnColumn(math.MaxInt))
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
	i := inspector{variables: x.whole.environment.variables}
	i.visit(e)
	seen := map[string]bool{text: true}
	return slices.DeleteFunc(i.found, func(reference ast.Expr) bool {
		text, err := x.text(reference)
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
		term.Failed = x.program.failed("a condition must be bool, is "+term.Value.Type().TypeName(), nil)
		term.Value = nil
	}
	return term, nil
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
