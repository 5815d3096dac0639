// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import "testing"

// TestDiffWildcard checks the meaning of "*" in want, and that it is an ordinary character in got.
func TestDiffWildcard(t *testing.T) {
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
		if diff := DiffWildcard(want, got); (diff == "") != test.fits {
			t.Errorf("%q is wanted, and %q is got: %s", test.want, test.got, diff)
		}
	}
	for about, got := range map[string]any{"a longer list": []any{"a", "b"}, "a shorter list": []any{},
		"another type": "a", "nothing": nil} {
		if DiffWildcard([]any{"*"}, got) == "" ||
			DiffWildcard(map[string]any{"x": []any{"*"}}, map[string]any{"x": got}) == "" {
			t.Errorf("%s is the same", about)
		}
	}
	if want := map[string]any{"x": "*"}; DiffWildcard(want, map[string]any{"x": "*", "y": "a"}) == "" ||
		DiffWildcard(want, map[string]any{"x": "a"}) != "" || want["x"] != "*" {
		t.Error("want a difference for the extra key, none for a wildcard, and unchanged arguments")
	}
}
