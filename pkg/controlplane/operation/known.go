// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "encoding/json"

// Known is a structured value as far as it is known when the profile is loaded, as encoding/json reads it: what is computed is
// nil in it. It is nil for texts.
func (v Value) Known() any {
	if v.tree != nil {
		return v.tree.Known()
	}
	var value any
	if v.constant != nil && v.constant.JSON != nil && json.Unmarshal(v.constant.JSON, &value) != nil {
		return nil
	}
	return value
}
