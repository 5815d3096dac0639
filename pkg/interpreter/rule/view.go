// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// isNull reports whether raw is the JSON value null.
func isNull(raw []byte) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// native decodes a value: whole numbers to int64, others to float64.
func native(n *document.Node) any {
	switch n.Kind() {
	case document.Object:
		members := make(map[string]any, n.Len())
		for key, member := range n.Members() {
			members[key] = native(member)
		}
		return members
	case document.Array:
		items := make([]any, n.Len())
		for i, item := range n.Items() {
			items[i] = native(item)
		}
		return items
	case document.String:
		text, _ := n.Text()
		return text
	case document.Number:
		return numeric(n)
	case document.Bool:
		return n.Raw()[0] == 't'
	default:
		return nil
	}
}

// scalar is expression.Value for scalars, without decoding to an intermediate value.
func scalar(n *document.Node) ref.Val {
	switch n.Kind() {
	case document.String:
		text, _ := n.Text()
		return types.String(text)
	case document.Bool:
		return types.Bool(n.Raw()[0] == 't')
	default:
		return expression.Value(native(n))
	}
}

// numeric decodes a number.
func numeric(n *document.Node) any {
	text := string(n.Raw())
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole
	}
	float, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(float, 0) {
		return nil
	}
	return float
}

// words are the names of value kinds in messages.
var words = map[document.Kind]string{
	document.Null: "null", document.Bool: "true or false", document.Number: "a number", document.String: "a string", document.Array: "a list",
	document.Object: "an object",
}

// word returns the name of a value's kind in messages.
func word(n *document.Node) string { return words[n.Kind()] }

// typeName returns the name of an expression result's type in messages.
func typeName(value ref.Val) string {
	name := value.Type().TypeName()
	if name == types.NullType.TypeName() {
		return "null"
	}
	return "a " + name
}

// background is the context for evaluations at load time.
var background = context.Background()

// valueOf returns a value for expressions: a lazy view of an object or list, or a decoded scalar.
func valueOf(n *document.Node) ref.Val {
	switch n.Kind() {
	case document.Object:
		return (*mapping)(n)
	case document.Array:
		return (*list)(n)
	default:
		return scalar(n)
	}
}

// mapping is the view of an object. It is the node itself and needs no memory.
type mapping document.Node

var _ traits.Mapper = (*mapping)(nil)

// Find implements traits.Mapper.
func (m *mapping) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	member := m.node().Get(string(name))
	if member == nil {
		return nil, false
	}
	return valueOf(member), true
}

// Get implements traits.Indexer.
func (m *mapping) Get(key ref.Val) ref.Val {
	if value, ok := m.Find(key); ok {
		return value
	}
	return m.full().Get(key)
}

// Contains implements traits.Container.
func (m *mapping) Contains(key ref.Val) ref.Val {
	if name, ok := key.(types.String); ok {
		return types.Bool(m.node().Get(string(name)) != nil)
	}
	return m.full().Contains(key)
}

// Size implements traits.Sizer.
func (m *mapping) Size() ref.Val { return types.Int(m.node().Len()) }

// IsZeroValue implements traits.Zeroer.
func (m *mapping) IsZeroValue() bool { return m.node().Len() == 0 }

// Iterator implements traits.Iterable.
func (m *mapping) Iterator() traits.Iterator { return m.full().Iterator() }

// ConvertToNative implements ref.Val.
func (m *mapping) ConvertToNative(t reflect.Type) (any, error) { return m.full().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (m *mapping) ConvertToType(t ref.Type) ref.Val { return m.full().ConvertToType(t) }

// Equal implements ref.Val.
func (m *mapping) Equal(other ref.Val) ref.Val { return m.full().Equal(other) }

// Type implements ref.Val.
func (*mapping) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (m *mapping) Value() any { return m.full().Value() }

func (m *mapping) node() *document.Node { return (*document.Node)(m) }

// full decodes the whole object, for rare operations.
func (m *mapping) full() traits.Mapper {
	if whole, ok := expression.Value(native(m.node())).(traits.Mapper); ok {
		return whole
	}
	return types.NewStringStringMap(types.DefaultTypeAdapter, nil)
}

// list is the view of a list. It is the node itself.
type list document.Node

var _ traits.Lister = (*list)(nil)

// Get implements traits.Indexer.
func (l *list) Get(index ref.Val) ref.Val {
	if i, ok := index.(types.Int); ok && i >= 0 && int(i) < l.node().Len() {
		return valueOf(l.node().Item(int(i)))
	}
	return l.full().Get(index)
}

// IsZeroValue implements traits.Zeroer.
func (l *list) IsZeroValue() bool { return l.node().Len() == 0 }

// Iterator implements traits.Iterable.
func (l *list) Iterator() traits.Iterator { return &walk{items: l.node().Items()} }

// Size implements traits.Sizer.
func (l *list) Size() ref.Val { return types.Int(l.node().Len()) }

// Add implements traits.Adder.
func (l *list) Add(other ref.Val) ref.Val { return l.full().Add(other) }

// Contains implements traits.Container.
func (l *list) Contains(value ref.Val) ref.Val { return l.full().Contains(value) }

// ConvertToNative implements ref.Val.
func (l *list) ConvertToNative(t reflect.Type) (any, error) { return l.full().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (l *list) ConvertToType(t ref.Type) ref.Val { return l.full().ConvertToType(t) }

// Equal implements ref.Val.
func (l *list) Equal(other ref.Val) ref.Val { return l.full().Equal(other) }

// Type implements ref.Val.
func (*list) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (l *list) Value() any { return l.full().Value() }

func (l *list) node() *document.Node { return (*document.Node)(l) }

// full decodes the whole list, for rare operations.
func (l *list) full() traits.Lister {
	if whole, ok := expression.Value(native(l.node())).(traits.Lister); ok {
		return whole
	}
	return types.NewStringList(types.DefaultTypeAdapter, nil)
}

// walk iterates over the items of a list.
type walk struct {
	traits.Iterator
	items []*document.Node
}

// HasNext implements traits.Iterator.
func (w *walk) HasNext() ref.Val { return types.Bool(len(w.items) > 0) }

// Next implements traits.Iterator.
func (w *walk) Next() ref.Val {
	next := w.items[0]
	w.items = w.items[1:]
	return valueOf(next)
}
