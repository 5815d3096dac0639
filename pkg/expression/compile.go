// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"strconv"
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
	o := origin{at, text}
	pieces, problem := scan(strings.TrimRight(text, " \t\r\n"))
	if problem != nil {
		return nil, source.Findings{o.finding(problem.offset, "%s", problem.message)}
	}
	if len(pieces) != 1 || !pieces[0].expression {
		return nil, source.Findings{o.finding(0, "a condition is one expression in braces, such as ${ shoot.hibernated }").Of(WrongCondition)}
	}
	p, err := e.compile(o, pieces[0])
	if err != nil {
		return nil, err
	}
	if t := p.result; !t.IsExactType(cel.BoolType) && t.Kind() != types.DynKind {
		return nil, source.Findings{o.finding(p.offset, "a condition must be bool, is %s", describeType(t)).Of(WrongResult)}
	}
	p.takes = cel.BoolType
	return &Expression{p}, nil
}

// Bool evaluates the condition.
func (x *Expression) Bool(ctx context.Context, vars interpreter.Activation) (bool, error) {
	value, err := x.program.evaluate(ctx, vars)
	if err != nil {
		return false, err
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, x.program.failed("a condition must be bool, is " + value.Type().TypeName())
	}
	return bool(result), nil
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
			t.parts = append(t.parts, part{literal: piece.text})
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
		if len(pieces) > 1 {
			p.takes = cel.StringType
		}
		t.parts = append(t.parts, part{program: p})
	}
	if len(findings) > 0 {
		return nil, findings.Err()
	}
	if len(t.parts) == 1 && t.parts[0].program != nil {
		t.whole = t.parts[0].program
	}
	return t.fold()
}

// fold evaluates a template that names no variable.
func (t *Template) fold() (*Template, error) {
	for _, part := range t.parts {
		if part.program != nil && part.program.value == nil {
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
	// Position is where the part begins.
	Position source.Position
	// References are the variables and fields that the part names, as dotted paths, sorted.
	References []string
	// Skipped says that the part was not evaluated, as another one had decided already.
	Skipped bool
	// Value is the value of the part; nil if it was not evaluated or failed.
	Value ref.Val
	// Failed is why there is no value, without values; nil where there is one.
	Failed error
	// Terms are the parts that had a say in it, without those that are constant.
	Terms []Term
	// Each has, for a macro such as exists, the value of its condition for each item up to the deciding one; More
	// counts the omitted items.
	Each []Term
	More int
	// Item is the item that the term is about; nil for terms that are not in Each.
	Item ref.Val
	// Items lists the references of the surrounding items, from which its value may come as well.
	Items []string
}

// Describe writes a value for people: texts in quotes, versions, quantities and times without, lists and mappings as JSON, and of an
// object the name of its type.
func Describe(value ref.Val) string {
	switch v := value.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return "absent"
		}
		return Describe(v.GetValue())
	case types.String:
		return strconv.Quote(string(v))
	case *record:
		return "a " + v.object.name
	}
	if raw, err := JSON(value); err == nil && (value.Type() == types.ListType || value.Type() == types.MapType) {
		return string(raw)
	}
	if value == types.NullValue {
		return "null"
	}
	if text, err := Text(value); err == nil {
		return text
	}
	return "a " + value.Type().TypeName()
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

// inspect collects the variables and fields that an expression names, and says how many steps of its comprehensions may pass between two looks at the
// context; 0: it has none.
func (e *Environment) inspect(root ast.Expr) (references []string, every int) {
	return inspect(e.variables, root)
}

// compile checks an expression, bounds its cost and computes it at once when it is constant.
func (e *Environment) compile(o origin, text piece) (*program, source.Findings) {
	ast, issues := e.env.Compile(text.text)
	if issues.Err() != nil {
		return nil, e.diagnose(o, text, issues)
	}
	p := &program{origin: o, offset: text.offset + leadingSpace(text.text), ast: ast, result: ast.OutputType(), environment: e}
	if p.result.TypeName() == types.OptionalType.TypeName() {
		return nil, source.Findings{p.finding("the result may be absent: give a default with .orValue(…)")}
	}
	if finding := boundCost(e, p); finding != nil {
		return nil, source.Findings{*finding}
	}
	var err error
	p.run, err = planProgram(p, e.env, ast.NativeRep(), cel.EvalOptions(cel.OptOptimize), cel.OptimizeRegex(constraintOptimization))
	if err != nil {
		return nil, source.Findings{p.finding(err.Error())}
	}
	p.references, p.every = e.inspect(ast.NativeRep().Expr())
	if len(p.references) > 0 {
		return p, nil
	}
	if p.value, err = p.evaluate(context.Background(), nil); err != nil {
		return nil, findingOf(err)
	}
	return p, nil
}
