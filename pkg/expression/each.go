// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// each is the condition of exists, all and exists_one, which is explained for each item.
type each struct {
	variable  string
	of        *node
	condition *node
	// decides is what the condition comes to at the item that decides the whole; nil where all items count.
	decides ref.Val
}

// mostItems is how many items are explained.
const mostItems = 8

// asked are the macros that ask something of each item, with what decides them.
var asked = map[string]ref.Val{"exists": types.True, "all": types.False, "exists_one": nil, "existsOne": nil}

// asks says whether a part is such a macro, over items and not over keys with their values.
func (c *partsCompiler) asks(e ast.Expr) bool {
	written, ok := c.native.SourceInfo().GetMacroCall(e.ID())
	if !ok || e.Kind() != ast.ComprehensionKind || written.Kind() != ast.CallKind {
		return false
	}
	_, ok = asked[written.AsCall().FunctionName()]
	return ok && !e.AsComprehension().HasIterVar2() && e.AsComprehension().LoopStep().Kind() == ast.CallKind
}

// each compiles what a macro asks of each item; nil for any other part.
func (c *partsCompiler) each(e ast.Expr) (*each, error) {
	if !c.asks(e) {
		return nil, nil
	}
	written, _ := c.native.SourceInfo().GetMacroCall(e.ID())
	decides, loop := asked[written.AsCall().FunctionName()], e.AsComprehension()
	// exists is accu || condition, all is accu && condition, and exists_one is condition ? accu + 1 : accu.
	condition := loop.LoopStep().AsCall().Args()[0]
	if decides != nil {
		condition = loop.LoopStep().AsCall().Args()[1]
	}
	of, err := c.node(loop.IterRange())
	if err != nil {
		return nil, err
	}
	inner := *c
	inner.variables = maps.Clone(c.variables)
	inner.variables[loop.IterVar()] = Variable{Name: loop.IterVar(), Type: cel.DynType}
	inner.items = slices.Concat(c.items, of.program.references)
	asks, err := inner.node(condition)
	return &each{variable: loop.IterVar(), of: of, condition: asks, decides: decides}, err
}

// evaluate explains the condition for one item after the other, up to the one that decides; more counts those that are left out.
func (a *each) evaluate(ctx context.Context, vars interpreter.Activation) (terms []Term, more int) {
	value, err := a.of.program.evaluate(ctx, vars)
	if err != nil {
		return nil, 0
	}
	iterable, ok := value.(traits.Iterable)
	if !ok {
		return nil, 0
	}
	for it := iterable.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		term := a.condition.evaluate(ctx, &local{Activation: vars, name: a.variable, value: item})
		term.Item = item
		decided := a.decides != nil && term.Value == a.decides
		if len(terms) < mostItems || decided {
			terms = append(terms, term)
		} else {
			more++
		}
		if decided {
			break
		}
	}
	return terms, more
}

// local binds the variable of a macro.
type local struct {
	interpreter.Activation
	name  string
	value ref.Val
}

// ResolveName implements interpreter.Activation.
func (l *local) ResolveName(name string) (any, bool) {
	if name == l.name {
		return l.value, true
	}
	return l.Activation.ResolveName(name)
}
