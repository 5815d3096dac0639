// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func TestEvaluationStopsWithContext(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	template, err := env.Template(`${ shoot.name.split("").map(a, a) }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := template.Evaluate(ended, vars); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// endingContext ends when it was asked for its error often enough.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLoopStopsWithContext runs over so many items that it would take hours without interruption.
func TestLoopStopsWithContext(t *testing.T) {
	env := testEnvironment(t)
	template, err := env.Template(`${ any.all(a, any.all(b, a + b >= 0)) }`, source.Position{})
	if err != nil {
		t.Fatal(err)
	}
	vars, err := cel.NewActivation(map[string]any{"any": make([]int64, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := template.Evaluate(&endingContext{context.Background(), 5}, vars); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestNestedEvaluation evaluates a field by another expression, as variables are.
func TestNestedEvaluation(t *testing.T) {
	env, vars := testEnvironment(t), testActivation(t)
	inner, err := env.Template(`${ int(secrets.token) }`, source.Position{File: "inner", Line: 3, Column: 1})
	if err != nil {
		t.Fatal(err)
	}
	variables := NewObjectType("test.Variables", map[string]*cel.Type{"x": cel.IntType})
	outer, err := env.Extend(Variable{Name: "variables", Object: variables})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ctx   context.Context
		cause error
		want  string
	}{
		"names outer and inner place of a failure":   {context.Background(), nil, "outer:1:14: inner:3:4: int cannot take the value that it was given"},
		"reports an interruption at the outer place": {&endingContext{context.Background(), 1}, context.Canceled, "outer:1:4: the evaluation was interrupted: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := outer.Template(`${ variables.x + 1 }`, source.Position{File: "outer", Line: 1, Column: 1})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := cel.NewActivation(map[string]any{"variables": variables.Value(Values{"x": Lazy(func() any {
				value, err := inner.Evaluate(c.ctx, vars)
				if err != nil {
					return err
				}
				return value
			})})})
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.Evaluate(c.ctx, bound)
			if errorText(err) != c.want || c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
