// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package stars

import "testing"

// TestDiff holds what stars stand for, and that those in what is got stand for nothing.
func TestDiff(t *testing.T) {
	for _, test := range []struct {
		want, got string
		fits      bool
	}{
		{"a*c", "abc", true},
		{"a*c", "ac", true},
		{"a*c", "acc", true},
		{"a*c", "abd", false},
		{"a*c", "babc", false},
		{"ab*ba", "aba", false},
		{"*", "", true},
		{"*b*", "abc", true},
		{"*b*", "ac", false},
		{"a*b*c", "acb", false},
		{"a*b*c", "abc", true},
		{"a", "a", true},
		{"a", "ab", false},
		{"abc", "a*c", false},
		{"", "*", false},
		{"a*c", "a*c", true},
	} {
		want, got := map[string]any{"x": []any{test.want}}, map[string]any{"x": []any{test.got}}
		if diff := Diff(want, got); (diff == "") != test.fits {
			t.Errorf("%q is wanted, and %q is got: %s", test.want, test.got, diff)
		}
	}
	for about, got := range map[string]any{"a longer list": []any{"a", "b"}, "a shorter list": []any{}, "another type": "a", "nothing": nil} {
		if Diff([]any{"*"}, got) == "" || Diff(map[string]any{"x": []any{"*"}}, map[string]any{"x": got}) == "" {
			t.Errorf("%s is the same", about)
		}
	}
	if want := map[string]any{"x": "*"}; Diff(want, map[string]any{"x": "*", "y": "a"}) == "" || Diff(want, map[string]any{"x": "a"}) != "" || want["x"] != "*" {
		t.Error("what is wanted is compared once")
	}
}
