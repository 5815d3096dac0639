// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Suggest is the hint ` (did you mean "x"?)` for the known word that is nearest to the one given, or of which that is the beginning; "" when there is none.
func Suggest(word string, known []string) string {
	if best := near(word, known); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// near is the known word that is nearest to the one given, or of which that is the beginning; "" when there is none.
func near(word string, known []string) string {
	if best, _, _ := nearest(word, known); best != "" {
		return best
	}
	return begun(word, known)
}

// begun is the only known word that begins with the one given; "" where there is none, or several are.
func begun(word string, known []string) string {
	const least = 3
	longer := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(known))), func(candidate string) bool {
		return len(word) < least || !strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(word))
	})
	if len(longer) != 1 {
		return ""
	}
	return longer[0]
}

// ThereAre says what there is, for people, and not too much of it.
func ThereAre(known []string) string {
	const most = 10
	switch {
	case len(known) == 0:
		return "there are none"
	case len(known) > most:
		return fmt.Sprintf("there are %s and %d more", strings.Join(known[:most], ", "), len(known)-most)
	}
	return "there are " + strings.Join(known, ", ")
}

// Nearest is the known word that must have been meant: one or two slips away, less than half of the word, and nearer than any other by two.
// One that differs in nothing but the case of letters is meant, however near others are. False where there is none.
func Nearest(word string, known []string) (string, bool) {
	best, distance, next := nearest(word, known)
	if best != "" && distance == 0 {
		return best, next > 0
	}
	return best, best != "" && distance <= 2 && 2*distance < len(word) && next >= distance+2
}

// nearest is the known word that is nearest to the one given, if any is near, how far it is, and how far the one that is nearest after it.
func nearest(word string, known []string) (best string, distance, next int) {
	distance, next = len(word)/3+2, math.MaxInt
	for _, candidate := range slices.Compact(slices.Sorted(slices.Values(known))) {
		switch d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); {
		case d < distance:
			if best != "" {
				next = distance
			}
			best, distance = candidate, d
		case d < next:
			next = d
		}
	}
	return best, distance, next
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
