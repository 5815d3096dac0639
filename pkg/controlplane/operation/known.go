// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "encoding/json"

// Known is a structured value as far as it is known when the profile is loaded, as encoding/json reads it: what is computed is
// nil in it. It is nil for texts.
func (v Value) Known() any {
	if v.tree != nil {
		return v.tree.known()
	}
	var value any
	if v.constant != nil && v.constant.JSON != nil && json.Unmarshal(v.constant.JSON, &value) != nil {
		return nil
	}
	return value
}

func (t *tree) known() any {
	switch {
	case t.literal != nil:
		var value any
		if json.Unmarshal(t.literal, &value) != nil {
			return nil
		}
		return value
	case t.template != nil:
		return nil
	case t.list:
		items := make([]any, len(t.items))
		for i, item := range t.items {
			items[i] = item.known()
		}
		return items
	default:
		members := make(map[string]any, len(t.keys))
		for i, key := range t.keys {
			members[key] = t.members[i].known()
		}
		return members
	}
}
