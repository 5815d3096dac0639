// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package fieldpath

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// In returns the value at the path in decoded JSON, or nil if there is none.
func (p Path) In(value any) any {
	for _, s := range p {
		value = s.in(value)
	}
	return value
}

func (s Step) in(value any) any {
	if s.By == "" && !s.Position {
		members, _ := value.(map[string]any)
		return members[s.Key]
	}
	items, _ := value.([]any)
	at := slices.IndexFunc(items, s.identifies)
	if s.Position {
		at, _ = strconv.Atoi(s.Key)
	}
	if at < 0 || at >= len(items) {
		return nil
	}
	return items[at]
}

// identifies reports whether an item of a list has the member of the step: 443 and "443" are equal.
func (s Step) identifies(item any) bool {
	members, _ := item.(map[string]any)
	switch value := members[s.By].(type) {
	case string, bool, int64, float64, json.Number:
		return fmt.Sprint(value) == s.Key
	default:
		return false
	}
}
