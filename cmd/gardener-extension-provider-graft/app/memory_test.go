// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"runtime/debug"
	"testing"
)

// TestLimitGarbage checks that GOGC in the environment overrides the program's own setting.
func TestLimitGarbage(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for environment, want := range map[string]int{"": heapGrowth, "100": 100, "off": 100} {
		debug.SetGCPercent(100) // what the runtime makes of GOGC at the start is not the matter
		t.Setenv("GOGC", environment)
		limitGarbage()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("with GOGC=%q, the heap may grow by %d%%, want %d%%", environment, got, want)
		}
	}
}
