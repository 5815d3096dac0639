// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"slices"
	"testing"
	"time"
)

// TestMedian checks the median, and that the order of the values stays.
func TestMedian(t *testing.T) {
	values := []int{5, 1, 9, 7}
	if m := Median(values); m != 7 {
		t.Errorf("the median of four is %d", m)
	}
	if m := Median(values[:3]); m != 5 || !slices.Equal(values, []int{5, 1, 9, 7}) {
		t.Errorf("the median of three is %d; the values are %v", m, values)
	}
	type round struct{ took time.Duration }
	rounds := []round{{3 * time.Millisecond}, {time.Millisecond}, {2 * time.Millisecond}}
	if m := Micros(MedianOf(rounds, func(r round) time.Duration { return r.took })); m != 2000 {
		t.Errorf("the median of rounds is %v", m)
	}
	if Processor() == "" {
		t.Error("the processor has no name")
	}
}
