// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Value decodes the value as it is now: map[string]any, []any, string, bool or nil. A number is an int64 if it is
// written as an integer that fits, a float64 if it has no more than 15 digits, which a float64 always keeps, and
// otherwise a json.Number. Of duplicate keys the last wins. An absent value is nil.
func (n *Node) Value() any {
	switch n.Kind() {
	case Object:
		out := make(map[string]any, n.Len())
		for key, member := range n.Members() {
			out[key] = member.Value()
		}
		return out
	case Array:
		items := n.Items()
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = item.Value()
		}
		return out
	case String:
		s, _ := n.Text()
		return s
	case Number:
		return number(string(n.Raw()))
	case Bool:
		return n.Raw()[0] == 't'
	default:
		return nil
	}
}

// number decodes a checked JSON number without loss.
func number(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
		return i
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	const smallestNormal = 0x1p-1022
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || len(digits) > 15 || digits != "" && math.Abs(f) < smallestNormal {
		return json.Number(s)
	}
	return f
}
