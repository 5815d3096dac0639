// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// number is a number of replicas.
type number struct {
	at       spot
	template *expression.Template
	fixed    int32
}

// number compiles a number, or one expression for it.
func (c *compiler) number(env *expression.Environment, p place) number {
	n := number{at: c.spot(p)}
	switch node := p.Value(); {
	case node.Absent():
		c.add(p, source.MissingField, "is missing")
	case node.Kind != yaml.ScalarNode:
		c.add(p, source.WrongType, "must be a whole number, or an expression for one")
	case node.Tag == "!!int":
		fixed, err := strconv.ParseInt(node.Value, 0, 32)
		if err != nil || fixed < 0 {
			c.add(p, source.WrongValue, "must be 0 to %d", math.MaxInt32)
		}
		n.fixed = int32(fixed) // #nosec G115 -- it was read with 32 bits
	case node.Tag != "!!str" || !strings.Contains(node.Value, "${"):
		c.add(p, source.WrongType, "must be a whole number, or an expression for one")
	default:
		n.template = c.text(env, p, source.Text{Value: node.Value, At: node}).template
		if n.template == nil {
			break
		}
		n.template.Takes(types.IntType)
		switch n.template.Type().Kind() {
		case types.IntKind, types.UintKind, types.DoubleKind, types.DynKind:
		default:
			c.add(p, expression.WrongResult, "must be a whole number, is a %s", n.template.Type().TypeName())
		}
	}
	return n
}

// of computes the number. What is no whole number, negative or too large does not fit.
func (n number) of(q *question) (int32, error) {
	if n.template == nil {
		return n.fixed, nil
	}
	value, err := n.template.Evaluate(q.ctx, q)
	if err != nil {
		return 0, q.broken(n.at, err)
	}
	var whole float64
	switch value := value.(type) {
	case types.Int:
		whole = float64(value)
	case types.Uint:
		whole = float64(value)
	case types.Double:
		whole = float64(value)
	default:
		return 0, unfit("%s: what it gives is %s, and no number", n.at, typeName(value))
	}
	if whole != math.Trunc(whole) || whole < 0 || whole > math.MaxInt32 {
		return 0, unfit("%s: what it gives is no whole number from 0 to %d", n.at, math.MaxInt32)
	}
	return int32(whole), nil
}
