// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"context"
	"math"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// isNull says whether a text is null and nothing else.
func isNull(raw []byte) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// native decodes a place: whole numbers are int64, all others float64.
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

// scalar is expression.Value of what is neither an object nor a list, without a decoded value between.
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

// words are what messages call kinds of values.
var words = map[document.Kind]string{
	document.Null: "null", document.Bool: "true or false", document.Number: "a number", document.String: "a text", document.Array: "a list",
	document.Object: "an object",
}

// word is what messages call the kind of a value.
func word(n *document.Node) string { return words[n.Kind()] }

// typeName is what messages call the type of what an expression gives.
func typeName(value ref.Val) string {
	name := value.Type().TypeName()
	if name == types.NullType.TypeName() {
		return "null"
	}
	return "a " + name
}

// background is for what is computed when a document is loaded.
var background = context.Background()
