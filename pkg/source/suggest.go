// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest is the hint ` (did you mean "x"?)` for the known word that is nearest to the one given, or "" when none is near.
func Suggest(word string, known []string) string {
	best, _ := nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// Nearest is the known word that must have been meant; false where none is near, or more than one.
func Nearest(word string, known []string) (string, bool) {
	best, rivals := nearest(word, known)
	return best, best != "" && rivals == 0
}

// nearest is the known word that is nearest to the one given, and how many others are near too.
func nearest(word string, known []string) (best string, rivals int) {
	near := len(word)/3 + 2
	distance := near
	for _, candidate := range slices.Compact(slices.Sorted(slices.Values(known))) {
		d := editDistance(strings.ToLower(word), strings.ToLower(candidate))
		if d >= near {
			continue
		}
		rivals++
		if d < distance {
			best, distance = candidate, d
		}
	}
	return best, max(rivals-1, 0)
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		now[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}
