// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package stars

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStand holds what stars stand for, and that they do on either side.
func TestStand(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"a*c", "abc", true},
		{"a*c", "ac", true},
		{"a*c", "abd", false},
		{"a*c", "babc", false},
		{"*", "", true},
		{"*b*", "abc", true},
		{"*b*", "ac", false},
		{"a*b*c", "acb", false},
		{"a", "a", true},
		{"a", "ab", false},
	} {
		for _, pair := range [][2]string{{test.pattern, test.text}, {test.text, test.pattern}} {
			x, y := map[string]any{"x": []any{pair[0]}}, map[string]any{"x": []any{pair[1]}}
			if got := cmp.Diff(x, y, Stand()) == ""; got != test.want {
				t.Errorf("%q and %q: %t", pair[0], pair[1], got)
			}
		}
	}
}
