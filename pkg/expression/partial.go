// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// With returns an evaluator that knows a further field of a variable with an ObjectType. Both share the cost limit.
func (p *Partial) With(variable, field string, value ref.Val) *Partial {
	result := &Partial{environment: p.environment, programs: p.programs, known: map[string]Values{}, spent: p.spent}
	maps.Copy(result.known, p.known)
	fields := Values{}
	maps.Copy(fields, p.known[variable])
	fields[field] = value
	result.known[variable] = fields
	return result
}

// False reports whether a condition is false for any values of the unknown fields. It returns false if the evaluation
// fails.
func (p *Partial) False(x *Expression) bool {
	value, ok := p.evaluate(x.program)
	return ok && value == types.False
}

// Value returns the value of a template if the known fields determine it.
func (p *Partial) Value(t *Template) (ref.Val, bool) {
	switch {
	case t.value != nil:
		return t.value, true
	case t.whole != nil:
		return p.evaluate(t.whole)
	}
	text, err := t.join(func(x *compiledExpression, _ string) (string, error) {
		value, ok := p.evaluate(x)
		if !ok {
			return "", safeError("the value is unknown")
		}
		return Text(value)
	})
	return types.String(text), err == nil
}

// evaluate returns the value of a program if the known fields determine it. If the evaluations of all views of a
// document have used up their common budget, the value counts as unknown: otherwise a document with expensive variables
// would take minutes to load.
func (p *Partial) evaluate(x *compiledExpression) (ref.Val, bool) {
	if x.value != nil {
		return x.value, true
	}
	if *p.spent > maximumPartialCost {
		return nil, false
	}
	run, ok := p.programs[x]
	if !ok {
		var err error
		if run, err = planProgram(x.shell(), p.environment.env, x.ast.NativeRep(), cel.EvalOptions(cel.OptPartialEval)); err != nil {
			return nil, false
		}
		p.programs[x] = run
	}
	if p.activation == nil {
		values, unknown := p.split()
		known, err := cel.PartialVars(values, unknown...)
		if err != nil {
			return nil, false
		}
		p.activation = known
	}
	e := &evaluation{Activation: p.activation, ctx: context.Background(), meter: new(meter), program: x}
	value, _, err := run.Eval(limitedPartial{p.activation, e})
	*p.spent += e.cost
	if err != nil || e.exceeded != nil || types.IsUnknown(value) {
		return nil, false
	}
	return value, true
}

// limitedPartial holds the known fields, under the limits of an evaluation.
type limitedPartial struct {
	cel.PartialActivation
	evaluation *evaluation
}

// ResolveName implements interpreter.Activation.
func (l limitedPartial) ResolveName(name string) (any, bool) { return l.evaluation.ResolveName(name) }

// AsPartialActivation lets CEL find the unknown fields.
func (l limitedPartial) AsPartialActivation() (interpreter.PartialActivation, bool) { return l, true }

// split returns the values of variables with known fields, and patterns for all unknown ones.
func (p *Partial) split() (map[string]any, []*cel.AttributePatternType) {
	var unknown []*cel.AttributePatternType
	values := map[string]any{}
	for name, variable := range p.environment.variables {
		fields, ok := p.known[name]
		if !ok || variable.Object == nil {
			unknown = append(unknown, cel.AttributePattern(name))
			continue
		}
		values[name] = variable.Object.Value(fields)
		for _, field := range slices.DeleteFunc(variable.Object.Fields(), func(field string) bool { return fields[field] != nil }) {
			unknown = append(unknown, cel.AttributePattern(name).QualString(field))
		}
	}
	return values, unknown
}

// Explain evaluates the expressions of the template and returns the values of all their parts. It fails if a part does
// not compile; one that cannot be evaluated is a Term with Failed.
func (t *Template) Explain(ctx context.Context, vars interpreter.Activation) ([]Term, error) {
	var terms []Term
	for _, segment := range t.segments {
		if segment.program == nil {
			continue
		}
		term, err := segment.program.explainTerms(ctx, vars)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return terms, nil
}
