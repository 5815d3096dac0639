// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Expression is a compiled condition.
type Expression struct {
	program *program
}

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

// References are the variables and fields that the condition names, as dotted paths, sorted.
func (x *Expression) References() []string { return slices.Clone(x.program.references) }

// Constant says that the condition names no variable, so that it always has the same value.
func (x *Expression) Constant() bool { return x.program.value != nil }

// Template is a compiled string that may hold expressions.
type Template struct {
	parts []part
	// whole is set when the text is one expression and nothing else: then the result has the type of the expression.
	whole *program
	// value is the result when it is always the same.
	value ref.Val
}

// part is literal text or an expression.
type part struct {
	literal string
	program *program
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

// Constant says that the template names no variable, so that it always has the same value.
func (t *Template) Constant() bool { return t.value != nil }

// Takes says what type is wanted of a result of which the type is not known, for what is said where there is none.
func (t *Template) Takes(wanted *cel.Type) {
	if t.whole != nil {
		t.whole.takes = wanted
	}
}

// Type is the type of the result: that of the expression when the text is one expression, else string.
func (t *Template) Type() *cel.Type {
	if t.whole != nil {
		return t.whole.result
	}
	return cel.StringType
}

// Size is the estimated size of the result.
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

// Escaped is String with each computed part as escape writes it, which is also told the text before it; what stands in the document
// as it is stays so.
func (t *Template) Escaped(ctx context.Context, vars interpreter.Activation, escape func(before, computed string) (string, error)) (string, error) {
	return t.write(ctx, vars, func(_ *program, before, computed string) (string, error) { return escape(before, computed) })
}

// write writes the parts of a text, each computed one as put says, which is told the text before it, too.
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

// String computes the result as text: strings, bool, numbers, versions, quantities, addresses and times. Lists, maps and
// null are an error.
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

// JSON computes the result as JSON with sorted keys; see JSON for how values are written.
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

// References are the variables and fields that the template names, as dotted paths such as shoot.networking.type, sorted. A path ends
// where a function is called or an index is computed.
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

// Certain are the References without those that are evaluated in some cases only, as the branches of a condition are.
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
