// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// fieldPath is the way to a field that can be written.
type fieldPath fieldpath.Path

// errPosition says why [0] cannot be part of a path that is written.
var errPosition = errors.New("an item is found by a member, as in [name=x]: its position changes when others add items")

// parsePath reads a path without positions.
func parsePath(text string) (fieldPath, error) {
	p, err := fieldpath.Parse(text)
	if err == nil && slices.ContainsFunc(p, func(s fieldpath.Step) bool { return s.Position }) {
		err = errPosition
	}
	return fieldPath(p), err
}

// String writes the path in the one form that places compare.
func (p fieldPath) String() string { return fieldpath.Path(p).String() }

// with is the path to a member below.
func (p fieldPath) with(key string) fieldPath { return fieldPath(fieldpath.Path(p).With(key)) }

// keys are the members on the way; the items of lists are left out.
func (p fieldPath) keys() []string { return fieldpath.Path(p).Keys() }

// isItem says whether the path ends at the item of a list.
func (p fieldPath) isItem() bool { return len(p) > 0 && p[len(p)-1].By != "" }
