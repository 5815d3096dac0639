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
	if value == types.NullValue {
		return "null"
	}
	return "a " + value.Type().TypeName()
}

// background is the context for evaluations at load time.
var background = context.Background()

// valueOf returns a value for expressions: a lazy view of an object or list, or a decoded scalar. Whole numbers are int.
func valueOf(n *document.Node) ref.Val {
	switch n.Kind() {
	case document.Object:
		return mapping{nodeValue{n}}
	case document.Array:
		return list{nodeValue{n}}
	case document.String:
		text, _ := n.Text()
		return types.String(text)
	case document.Number:
		return expression.Value(numeric(n))
	case document.Bool:
		return types.Bool(n.Raw()[0] == 't')
	default:
		return types.NullValue
	}
}

// nodeValue is a value whose rare operations copy it to a list or map of CEL. It needs no memory beside the node.
type nodeValue struct{ *document.Node }

func (v nodeValue) full() ref.Val {
	if v.Kind() == document.Array {
		items := make([]ref.Val, v.Len())
		for i, item := range v.Items() {
			items[i] = valueOf(item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	}
	members := make(map[ref.Val]ref.Val, v.Len())
	for key, member := range v.Members() {
		members[types.String(key)] = valueOf(member)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, members)
}

// ConvertToNative implements ref.Val.
func (v nodeValue) ConvertToNative(t reflect.Type) (any, error) { return v.full().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (v nodeValue) ConvertToType(t ref.Type) ref.Val { return v.full().ConvertToType(t) }

// Equal implements ref.Val.
func (v nodeValue) Equal(other ref.Val) ref.Val { return v.full().Equal(other) }

// Value implements ref.Val.
func (v nodeValue) Value() any { return v.full().Value() }

// Size implements traits.Sizer.
func (v nodeValue) Size() ref.Val { return types.Int(v.Len()) }

// IsZeroValue implements traits.Zeroer.
func (v nodeValue) IsZeroValue() bool { return v.Len() == 0 }

// mapping is the view of an object.
type mapping struct{ nodeValue }

var _ traits.Mapper = mapping{}

// Find implements traits.Mapper.
func (m mapping) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	member := m.Node.Get(string(name))
	if member == nil {
		return nil, false
	}
	return valueOf(member), true
}

// Get implements traits.Indexer.
func (m mapping) Get(key ref.Val) ref.Val {
	if value, ok := m.Find(key); ok {
		return value
	}
	return m.full().(traits.Indexer).Get(key)
}

// Contains implements traits.Container.
func (m mapping) Contains(key ref.Val) ref.Val {
	if name, ok := key.(types.String); ok {
		return types.Bool(m.Node.Get(string(name)) != nil)
	}
	return m.full().(traits.Container).Contains(key)
}

// Iterator implements traits.Iterable.
func (m mapping) Iterator() traits.Iterator { return m.full().(traits.Iterable).Iterator() }

// Type implements ref.Val.
func (mapping) Type() ref.Type { return types.MapType }

// list is the view of a list.
type list struct{ nodeValue }

var _ traits.Lister = list{}

// Get implements traits.Indexer.
func (l list) Get(index ref.Val) ref.Val {
	if i, ok := index.(types.Int); ok && i >= 0 && int(i) < l.Len() {
		return valueOf(l.Item(int(i)))
	}
	return l.full().(traits.Indexer).Get(index)
}

// Iterator implements traits.Iterable.
func (l list) Iterator() traits.Iterator { return &walk{items: l.Items()} }

// Add implements traits.Adder.
func (l list) Add(other ref.Val) ref.Val { return l.full().(traits.Adder).Add(other) }

// Contains implements traits.Container.
func (l list) Contains(value ref.Val) ref.Val { return l.full().(traits.Container).Contains(value) }

// Type implements ref.Val.
func (list) Type() ref.Type { return types.ListType }

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
