// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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
