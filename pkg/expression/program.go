// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// program is one compiled expression.
type program struct {
	origin     origin
	offset     int // of the expression in the origin's text, in bytes
	ast        *cel.Ast
	run        cel.Program
	result     *cel.Type
	takes      *cel.Type // what is wanted of a result that is dyn; nil: anything
	every      int       // so many steps of comprehensions, the context is looked at; 0: it has none
	references []string
	value      ref.Val // when the expression names no variable
	size       Size    // estimated
	// limited says that the expression has steps that count what they create and cost, and costly that it may cost more than is allowed.
	limited, costly bool
	step            uint64 // the cost of a step of its comprehensions, without that of calls that are counted

	// The parts, for explanations, compiled when they are first asked for.
	environment *Environment
	explaining  sync.Once
	parts       *node
	partsError  error
	// operands are parts by the numbers of their nodes, for errors about types.
	operands sync.Map
}

// compile checks an expression, bounds its cost and computes it at once when it is constant.
func (e *Environment) compile(o origin, text piece) (*program, source.Findings) {
	ast, issues := e.env.Compile(text.text)
	if issues.Err() != nil {
		return nil, e.diagnose(o, text, issues)
	}
	p := &program{origin: o, offset: text.offset + leadingSpace(text.text), ast: ast, result: ast.OutputType(), environment: e}
	if p.result.TypeName() == types.OptionalType.TypeName() {
		return nil, source.Findings{p.finding("the result may be absent: say what it is then, with .orValue(…)")}
	}
	if finding := e.bound(p); finding != nil {
		return nil, source.Findings{*finding}
	}
	var err error
	p.run, err = p.plan(e.env, ast.NativeRep(), cel.EvalOptions(cel.OptOptimize), cel.OptimizeRegex(constraintOptimization))
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
	return nil, p.explain(ctx, vars, err)
}

// once runs the program, and gives CEL's own error.
func (p *program) once(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	var e *evaluation
	if p.every > 0 || p.limited {
		e = &evaluation{Activation: vars, ctx: ctx, meter: meterOf(ctx), program: p}
		vars = e
	}
	value, _, err := p.run.Eval(vars)
	if e != nil && e.exceeded != nil {
		return nil, e.exceeded
	}
	return value, err
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
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		return p.interrupted(ctxErr)
	}
	if err != nil {
		return p.exceeds(err)
	}
	return nil
}

func (p *program) textOf(value ref.Val) (string, error) {
	text, err := Text(value)
	if err != nil {
		return "", p.failed(err.Error())
	}
	return text, nil
}

// checkText refuses results that cannot stand within a text.
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

func (p *program) finding(message string) source.Finding {
	return source.Finding{Position: p.origin.position(p.offset), Message: message, Rule: WrongResult}
}

func leadingSpace(text string) int {
	for i, c := range text {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return i
		}
	}
	return len(text)
}

func describeType(t *cel.Type) string { return cel.FormatCELType(t) }
