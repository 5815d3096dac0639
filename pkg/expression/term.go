// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"strconv"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Term is a part of an expression, and what it came to in one evaluation.
type Term struct {
	// Text is the part as CEL writes it, in one line.
	Text string
	// Position is where the part begins.
	Position source.Position
	// References are the variables and fields that the part names, as dotted paths, sorted.
	References []string
	// Skipped says that the part was not evaluated, as another one had decided already.
	Skipped bool
	// Value is what the part came to; nil where it was not evaluated or failed.
	Value ref.Val
	// Failed is why there is no value, without values; nil where there is one.
	Failed error
	// Terms are the parts that had a say in it, without those that are constant.
	Terms []Term
	// Each says, of a macro such as exists, what its condition came to for each item up to the one that decided; More counts the items
	// that are left out.
	Each []Term
	More int
	// Item is the item that the term is about; nil for terms that are not in Each.
	Item ref.Val
	// Items are the references of what the items around the part are of, which its value may come from too.
	Items []string
}

// Explain evaluates the condition as Bool does and says what each part of it came to. It compiles the parts when it is first called.
func (x *Expression) Explain(ctx context.Context, vars interpreter.Activation) (Term, error) {
	term, err := x.program.explainTerms(ctx, vars)
	if err != nil || term.Value == nil {
		return term, err
	}
	if _, ok := term.Value.(types.Bool); !ok {
		term.Failed = x.program.failed("a condition must be bool, is " + term.Value.Type().TypeName())
		term.Value = nil
	}
	return term, nil
}

// Explain evaluates the expressions of the template and says what each of them, and each of their parts, came to.
func (t *Template) Explain(ctx context.Context, vars interpreter.Activation) ([]Term, error) {
	var terms []Term
	for _, part := range t.parts {
		if part.program == nil {
			continue
		}
		term, err := part.program.explainTerms(ctx, vars)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return terms, nil
}

// explainTerms evaluates a program with its parts.
func (p *program) explainTerms(ctx context.Context, vars interpreter.Activation) (Term, error) {
	root, err := p.partsOf()
	if err != nil {
		return Term{}, err
	}
	return root.evaluate(ctx, vars), nil
}

// evaluate computes the part and then those below it, as far as the evaluation of the whole had to.
func (n *node) evaluate(ctx context.Context, vars interpreter.Activation) Term {
	term := n.term()
	term.Value, term.Failed = n.program.evaluate(ctx, vars)
	if term.Failed != nil {
		term.Value = nil
	}
	decided := false
	for i, below := range n.below {
		if decided || n.branches && i > 0 && !n.takes(term.Terms[0], i) {
			term.Terms = append(term.Terms, below.skipped())
			continue
		}
		inner := below.evaluate(ctx, vars)
		term.Terms = append(term.Terms, inner)
		decided = n.absorbing != nil && inner.Value == n.absorbing
	}
	if n.each != nil {
		term.Each, term.More = n.each.evaluate(ctx, vars)
	}
	return term
}

// takes says whether the condition of a ?: leads to its first or its second branch.
func (n *node) takes(condition Term, branch int) bool {
	return condition.Value == types.Bool(branch == 1)
}

func (n *node) term() Term {
	return Term{Text: n.text, Position: n.position, References: n.program.references, Items: n.items}
}

// skipped is the part as one that was not evaluated, and nothing of what is below it.
func (n *node) skipped() Term {
	term := n.term()
	term.Skipped = true
	return term
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

// absorbing is the value of one part that decides a whole; nil for what has none.
func absorbing(function string) ref.Val {
	switch function {
	case operators.LogicalAnd:
		return types.False
	case operators.LogicalOr:
		return types.True
	}
	return nil
}
