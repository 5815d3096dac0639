// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package stars compares texts in which a star stands for anything, for tests of what is not the same each time. Enter at Stand.
package stars

import (
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Stand lets a star stand for anything in the texts that cmp compares, on either side.
func Stand() cmp.Option {
	return cmp.FilterValues(func(a, b string) bool { return strings.Contains(a+b, "*") }, cmp.Comparer(fits))
}

// fits says whether one of two texts is the other, with stars in it that stand for anything.
func fits(a, b string) bool {
	if !strings.Contains(a, "*") {
		a, b = b, a
	}
	parts := strings.Split(a, "*")
	if !strings.HasPrefix(b, parts[0]) || !strings.HasSuffix(b, parts[len(parts)-1]) {
		return false
	}
	for _, part := range parts {
		_, after, ok := strings.Cut(b, part)
		if !ok {
			return false
		}
		b = after
	}
	return true
}
