// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"slices"
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
	return &Expression{p}, nil
}

// Bool evaluates the condition. It fails with an *EvaluationError, or with the context's error.
func (x *Expression) Bool(ctx context.Context, vars interpreter.Activation) (bool, error) {
	value, err := x.program.evaluate(ctx, vars)
	if err != nil {
		return false, err
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, x.program.failed("a condition must be bool, is "+value.Type().TypeName(), nil)
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
	// Skipped reports that the part was not evaluated, because an earlier part decided.
	Skipped bool
	// Value is the value of the part; nil if it was not evaluated or failed.
	Value ref.Val
	// Failed is why there is no value, without values; nil where there is one.
	Failed error
	// Terms are the parts that had a say in it, without those that are constant.
	Terms []Term
}

// Describe returns a value as text for users: strings in quotes; versions, quantities and times without quotes; lists
// and mappings as JSON; and the name of its type for an object.
func Describe(value ref.Val) string {
	switch v := value.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return "absent"
		}
		return Describe(v.GetValue())
	case types.String:
		return strconv.Quote(string(v))
	case *objectValue:
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

// inspect returns the variables and fields that an expression names.
func (e *Environment) inspect(root ast.Expr) []string {
	i := inspector{variables: e.variables}
	i.visit(root)
	slices.Sort(i.references)
	return slices.Compact(i.references)
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
	p.references = e.inspect(ast.NativeRep().Expr())
	if len(p.references) > 0 {
		return p, nil
	}
	if p.value, err = p.evaluate(context.Background(), nil); err != nil {
		return nil, findingOf(err)
	}
	return p, nil
}

// evaluate runs the program. Only comprehensions can take long, so only they watch the context while they run.
func (p *program) evaluate(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	if p.value != nil {
		return p.value, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, p.interrupted(err)
	}
	if vars == nil {
		vars = interpreter.EmptyActivation()
	}
	value, err := p.once(ctx, vars)
	if err == nil {
		return value, nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return nil, p.interrupted(ctxErr)
	}
	return nil, p.explain(err)
}

func (p *program) text(ctx context.Context, vars interpreter.Activation) (string, error) {
	value, err := p.evaluate(ctx, vars)
	if err != nil {
		return "", err
	}
	return p.textOf(value)
}

// charge counts a text or JSON that is made of the result.
func (p *program) charge(ctx context.Context, size int) error {
	if size <= itemSize {
		return nil
	}
	err := Charge(ctx, size)
	switch ctxErr := ctx.Err(); {
	case err == nil:
		return nil
	case ctxErr != nil:
		return p.interrupted(ctxErr)
	default:
		return p.failed(err.Error(), err)
	}
}

func (p *program) textOf(value ref.Val) (string, error) {
	text, err := Text(value)
	if err != nil {
		return "", p.failed(err.Error(), nil)
	}
	return text, nil
}

// checkText rejects results that cannot be part of a text.
func (p *program) checkText() source.Findings {
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

type inspector struct {
	variables  map[string]Variable
	local      []string // variables of the comprehensions around
	references []string
	// certain excludes parts that are not always evaluated: operands of && and ||, the branches of ?: and bodies of
	// macros.
	certain bool
	found   []ast.Expr // the parts that are references, with keys and defaults
}

func (i *inspector) visit(e ast.Expr) {
	if path := i.path(e); path != nil {
		i.references = append(i.references, strings.Join(path, "."))
		i.found = append(i.found, e)
		return
	}
	before := len(i.found)
	i.visitBelow(e)
	if isLookup(e) && len(i.found) == before+1 {
		i.found[before] = e
	}
}

// isLookup reports whether a part reads a member of another part by its name, or gives it a constant default.
func isLookup(e ast.Expr) bool {
	switch e.Kind() {
	case ast.SelectKind:
		return true
	case ast.CallKind:
		switch call := e.AsCall(); call.FunctionName() {
		case operators.OptSelect, operators.Index, operators.OptIndex:
			return call.Args()[1].Kind() == ast.LiteralKind
		case "orValue":
			return call.Args()[0].Kind() == ast.LiteralKind
		}
	}
	return false
}

func (i *inspector) visitBelow(e ast.Expr) {
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
