// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is the growth of the heap in percent before the next garbage collection. Go's default of 100
// doubles the memory of each control plane. With 50, an admission takes about 0.02 ms more CPU
// (docs/benchmarks.md), and there are few admissions per second.
const heapGrowth = 50

// limitGarbage sets heapGrowth, unless GOGC is set.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
