// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"fmt"
	"testing"
)

// SetGeneration makes a store forget sooner; it comes before the first commit.
func (s *Store) SetGeneration(bytes int) { s.once.generation = bytes }

// TestForget holds that rows are remembered within a bound: the last of them, and never one that was written twice.
func TestForget(t *testing.T) {
	const generation = 64 << 10
	o := once{generation: generation}
	value := make([]byte, 1<<10)
	const rows = 4 * generation >> 10
	for i := range rows {
		o.written(fmt.Sprint(i), value)
		if count := len(o.young) + len(o.old); count > 2*generation>>10 {
			t.Fatalf("after %d rows %d are remembered", i, count)
		}
	}
	last := fmt.Sprint(rows - 1)
	for key, want := range map[string]bool{"0": false, last: true, fmt.Sprint(rows - generation>>10): true} {
		if _, got := o.find(key); got != want {
			t.Errorf("%s: got %v", key, got)
		}
	}
	o.written(last, value)
	if o.removed(last) {
		t.Error("a row that was written twice is taken for one that was written once")
	}
}
