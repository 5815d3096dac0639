// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// adapter takes values of CEL as they are. CEL's own adapter does so, too, but asks first for each type of Go that it knows, at every step of a path.
type adapter struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(native any) ref.Val {
	if value, is := native.(ref.Val); is {
		return value
	}
	return a.Adapter.NativeToValue(native)
}
