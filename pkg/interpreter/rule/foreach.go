// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// items is a forEach; nil where there is none.
type items struct {
	at   spot
	list *expression.Template
}

// forEach compiles a forEach, and gives the environment of what stands beside it.
func (c *compiler) forEach(p place, t source.Text) (*items, *expression.Environment) {
	if t.At.Absent() {
		return nil, c.plain
	}
	p = p.At("forEach")
	list, err := c.plain.Template(t.Value, expression.At(t.At))
	if err != nil {
		c.addAll(source.FindingsOf(t.At, p.Path, err).Of(expression.FailingConstant))
		return nil, c.scope.each
	}
	if kind := list.Type().Kind(); kind != types.ListKind && kind != types.DynKind {
		c.add(p, expression.WrongResult, "must be a list, such as ${ object.spec.pools }, is a %s", list.Type().TypeName())
	}
	return &items{c.spot(p), list}, c.scope.each
}

// each runs something for each item, or once where there is no forEach.
func (f *items) each(q *question, run func() error) error {
	if f == nil {
		return run()
	}
	value, err := f.list.Evaluate(q.ctx, q)
	if err != nil {
		return q.broken(f.at, err)
	}
	if value == types.NullValue {
		return nil // null is nothing, as where there is a path
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return unfit("%s: what it gives is %s, and no list", f.at, typeName(value))
	}
	defer func() { q.item = nil }()
	i := 0
	for it := list.Iterator(); it.HasNext() == types.True; i++ {
		if err := q.ended(f.at, i); err != nil {
			return err
		}
		q.item = it.Next()
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}
