// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// DiffWildcard returns the difference between two decoded JSON values, or an empty string. A "*" in a string of want
// matches any text.
func DiffWildcard(want, got any) string { return cmp.Diff(fillWildcards(want, got), got) }

// fillWildcards returns want with each string that matches its counterpart in got replaced by it.
func fillWildcards(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			want = maps.Clone(want)
			for key := range want {
				want[key] = fillWildcards(want[key], got[key])
			}
		}
		return want
	case []any:
		if got, ok := got.([]any); ok {
			want = slices.Clone(want)
			for i := range min(len(want), len(got)) {
				want[i] = fillWildcards(want[i], got[i])
			}
		}
		return want
	case string:
		if got, ok := got.(string); ok && matchWildcard(want, got) {
			return got
		}
	}
	return want
}

// matchWildcard reports whether a text matches a pattern.
func matchWildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	rest := text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		var ok bool
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return true
}
