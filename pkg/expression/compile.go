// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Condition compiles a text that is one expression, `${ … }`, with a result that is bool, or dyn and then checked at each
// evaluation. The position is that of the text's first character, see At. The error is source.Findings.
func (e *Environment) Condition(text string, at source.Position) (*Expression, error) {
	t, err := e.Template(strings.TrimRight(text, " \t\r\n"), at)
	switch {
	case err != nil:
		return nil, err
	case t.whole == nil:
		form := origin{at, text}.finding(0, "a condition is one expression in braces, such as ${ shoot.hibernated }")
		return nil, source.Findings{form.Of(WrongCondition)}
	case !t.Type().IsExactType(cel.BoolType) && t.Type().Kind() != types.DynKind:
		return nil, source.Findings{t.whole.finding("a condition must be bool, is " + describeType(t.Type()))}
	}
	return &Expression{t.whole}, nil
}

// Bool evaluates the condition. It fails with an *EvaluationError, or with the context's error.
func (x *Expression) Bool(ctx context.Context, vars interpreter.Activation) (bool, error) {
	value, err := x.program.evaluate(ctx, vars)
	if err != nil {
		return false, err
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, x.program.failed(notBool(value))
	}
	return bool(result), nil
}

func notBool(value ref.Val) error {
	return safeError("a condition must be bool, is " + value.Type().TypeName())
}

// Template compiles a string: `${ … }` is an expression, `$${` is a literal `${`. A string that is one expression and nothing else, not even
// a space, has the type of that expression; every other one is a string. The position is that of the text's first character,
// see At. The error is source.Findings.
func (e *Environment) Template(text string, at source.Position) (*Template, error) {
	o := origin{at, text}
	pieces, problem := scan(text)
	if problem != nil {
		return nil, source.Findings{o.finding(problem.offset, "%s", problem.message)}
	}
	var (
		t        Template
		findings source.Findings
	)
	for _, piece := range pieces {
		if !piece.expression {
			t.segments = append(t.segments, segment{literal: piece.text})
			continue
		}
		p, err := e.compile(o, piece)
		if err == nil && len(pieces) > 1 {
			err = p.checkText()
		}
		if err != nil {
			findings = append(findings, err...)
			continue
		}
		t.segments = append(t.segments, segment{program: p})
	}
	if len(findings) > 0 {
		return nil, findings.Err()
	}
	if len(t.segments) == 1 && t.segments[0].program != nil {
		t.whole = t.segments[0].program
	}
	return t.fold()
}

// ConditionOf compiles a condition at a path of a document. It returns nil if there is none or it is invalid. example is the
// message for a text that is not one expression.
func (e *Environment) ConditionOf(t source.Text, path, example string) (*Expression, source.Findings) {
	if t.At.Absent() {
		return nil, nil
	}
	compiled, err := e.Condition(t.Value, At(t.At))
	if err == nil {
		return compiled, nil
	}
	findings := source.FindingsOf(t.At, path, err)
	for i := range findings {
		if findings[i].Rule == WrongCondition {
			findings[i].Message = example
		}
	}
	return nil, findings
}

// TemplateOf compiles a text at a path of a document. It returns nil if there is none or it is invalid.
func (e *Environment) TemplateOf(t source.Text, path string) (*Template, source.Findings) {
	if t.At.Absent() {
		return nil, nil
	}
	compiled, err := e.Template(t.Value, At(t.At))
	if err != nil {
		return nil, source.FindingsOf(t.At, path, err).Of(FailingConstant)
	}
	return compiled, nil
}

// fold evaluates a template that names no variable.
func (t *Template) fold() (*Template, error) {
	for _, segment := range t.segments {
		if segment.program != nil && segment.program.value == nil {
			return t, nil
		}
	}
	value, err := t.Evaluate(context.Background(), nil)
	if err != nil {
		return nil, findingOf(err)
	}
	t.value = value
	return t, nil
}

// Term is a part of an expression with its value in one evaluation.
type Term struct {
	// Text is the part as CEL writes it, in one line.
	Text string
	// Position is that of the operator, of the name of the function or the field, or of the value.
	Position source.Position
	// References are the variables and fields that the part names, as dotted paths, sorted.
	References []string
	// Skipped reports that the part was not evaluated, because an earlier part decided.
	Skipped bool
	// Value is the value of the part; nil if it was not evaluated or failed.
	Value ref.Val
	// Failed is why there is no value, without values; nil where there is one.
	Failed error
	// Terms are the parts that had a say in it, without those that are constant.
	Terms []Term
}

// absorbing returns the value of one part that determines the whole, or nil.
func absorbing(function string) ref.Val {
	switch function {
	case operators.LogicalAnd:
		return types.False
	case operators.LogicalOr:
		return types.True
	}
	return nil
}

// pathsOf returns the paths of references, sorted.
func pathsOf(references []reference) []string {
	paths := make([]string, len(references))
	for i, r := range references {
		paths[i] = r.path
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// compile checks an expression, bounds its cost and computes it at once when it is constant.
func (e *Environment) compile(o origin, text piece) (*compiledExpression, source.Findings) {
	ast, issues := e.env.Compile(text.text)
	if issues.Err() != nil {
		return nil, e.diagnose(o, text, issues)
	}
	p := &compiledExpression{origin: o, offset: text.offset + leadingSpace(text.text), ast: ast, result: ast.OutputType(), environment: e}
	if p.result.TypeName() == types.OptionalType.TypeName() {
		return nil, source.Findings{p.finding("the result may be absent: give a default with .orValue(…)")}
	}
	if depth := nesting(ast.NativeRep()); depth > maximumNesting {
		finding := p.finding(fmt.Sprintf("too costly: %d loops inside of each other, at most %d are allowed", depth, maximumNesting))
		return nil, source.Findings{finding.Of(TooCostly)}
	}
	var err error
	p.run, err = planProgram(p, e.env, ast.NativeRep(), cel.EvalOptions(cel.OptOptimize), cel.OptimizeRegex(constraintOptimization))
	if err != nil {
		return nil, source.Findings{p.finding(err.Error())}
	}
	p.references = pathsOf(e.references(ast.NativeRep(), ast.NativeRep().Expr()))
	if len(p.references) > 0 {
		return p, nil
	}
	if p.value, err = p.evaluate(context.Background(), nil); err != nil {
		return nil, findingOf(err)
	}
	return p, nil
}

// evaluate runs the program. Only comprehensions can take long, so only they watch the context while they run.
func (p *compiledExpression) evaluate(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	if p.value != nil {
		return p.value, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, p.interrupted(err)
	}
	if vars == nil {
		vars = interpreter.EmptyActivation()
	}
	var e *evaluation
	if p.step > 0 || p.limited {
		e = &evaluation{Activation: vars, ctx: ctx, meter: meterOf(ctx), program: p}
		vars = e
	}
	value, _, err := p.run.Eval(vars)
	if e != nil && e.exceeded != nil {
		err = e.exceeded
	}
	if err == nil {
		return value, nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return nil, p.interrupted(ctxErr)
	}
	return nil, p.explain(err)
}

// charge counts a text or JSON that is made of the result. The program may be nil, if no expression has a part in it.
func (p *compiledExpression) charge(ctx context.Context, size int) error {
	if p == nil || size <= itemSize {
		return nil
	}
	err := Charge(ctx, size)
	switch ctxErr := ctx.Err(); {
	case err == nil:
		return nil
	case ctxErr != nil:
		return p.interrupted(ctxErr)
	default:
		return p.failed(err)
	}
}

// checkText rejects results that cannot be part of a text.
func (p *compiledExpression) checkText() source.Findings {
	switch p.result.Kind() {
	case types.ListKind, types.MapKind:
		return source.Findings{p.finding(fmt.Sprintf("a %s cannot stand within a text; use toJSON or toYAML", describeType(p.result)))}
	case types.NullTypeKind:
		return source.Findings{p.finding("null cannot stand within a text")}
	case types.StructKind:
		if !isKubernetesType(p.result.TypeName()) {
			return source.Findings{p.finding(fmt.Sprintf("%s cannot stand within a text", describeType(p.result)))}
		}
	}
	return nil
}

// reference is a variable with the fields that an expression selects from it.
type reference struct {
	path string
	// part is the expression with path, and with keys and defaults behind it.
	part ast.Expr
	// certain excludes parts that are not always evaluated: operands of && and ||, the branches of ?: and bodies of
	// macros.
	certain bool
}

// references returns the references in an expression, in their order.
func (e *Environment) references(tree *ast.AST, root ast.Expr) []reference {
	var found []reference
	for _, variable := range ast.MatchDescendants(ast.NavigateExpr(tree, root), ast.KindMatcher(ast.IdentKind)) {
		path, certain := variable.AsIdent(), true
		if _, ok := e.variables[path]; !ok || !isGlobal(variable, &certain) {
			continue
		}
		part, exact := variable, true
		for parent, ok := part.Parent(); ok && readFrom(parent) == part.ID(); parent, ok = part.Parent() {
			_, key := selection(parent)
			if exact = exact && (parent.Kind() == ast.SelectKind || source.IsIdentifier(key)); exact {
				path += "." + key
			}
			part = parent
		}
		found = append(found, reference{path, part, certain})
	}
	return found
}

// isGlobal reports whether an identifier is not a variable of a macro around it. It clears certain if the identifier is
// not always evaluated.
func isGlobal(identifier ast.NavigableExpr, certain *bool) bool {
	part, name := identifier, identifier.AsIdent()
	for parent, ok := part.Parent(); ok; parent, ok = part.Parent() {
		switch parent.Kind() {
		case ast.CallKind:
			call := parent.AsCall()
			if f := call.FunctionName(); f == operators.LogicalAnd || f == operators.LogicalOr || f == operators.Conditional && call.Args()[0].ID() != part.ID() {
				*certain = false
			}
		case ast.ComprehensionKind:
			loop := parent.AsComprehension()
			if loop.IterRange().ID() == part.ID() {
				break
			}
			if name == loop.IterVar() || name == loop.IterVar2() || name == loop.AccuVar() {
				return false
			}
			*certain = false
		}
		part = parent
	}
	return true
}

// readFrom returns the id of the part from which another part reads a member by its name, or to which it gives a
// constant default, or 0.
func readFrom(e ast.Expr) int64 {
	operand, _ := selection(e)
	if e.Kind() == ast.CallKind {
		call := e.AsCall()
		arguments := call.Args()
		switch {
		case len(arguments) == 0 || arguments[len(arguments)-1].Kind() != ast.LiteralKind:
			return 0
		case call.FunctionName() == "orValue":
			operand = call.Target()
		}
	}
	if operand == nil {
		return 0
	}
	return operand.ID()
}
