// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package stars compares what is wanted with what there is, where a star in a text that is wanted stands for anything, for tests of what is not the same
// each time. Enter at Diff.
package stars

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Diff is what differs between two values as they come of JSON; stars stand for anything in texts that are wanted, and for themselves in those that are got.
func Diff(want, got any) string { return cmp.Diff(filled(want, got), got) }

// filled is what is wanted, with what is got in the place of texts with stars that it fits.
func filled(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			want = maps.Clone(want)
			for key := range want {
				want[key] = filled(want[key], got[key])
			}
		}
		return want
	case []any:
		if got, ok := got.([]any); ok {
			want = slices.Clone(want)
			for i := range min(len(want), len(got)) {
				want[i] = filled(want[i], got[i])
			}
		}
		return want
	case string:
		if got, ok := got.(string); ok && fits(want, got) {
			return got
		}
	}
	return want
}

// fits says whether a text is as a pattern has it, in which stars stand for anything.
func fits(pattern, text string) bool {
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
