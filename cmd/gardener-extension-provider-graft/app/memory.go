// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how much, in percent, the heap may grow over what lives on it before it is collected. Go's own 100 keeps as much room for
// garbage as there is to keep, and so twice of what each control plane takes; half of that costs an admission some 0.02 ms of CPU
// (docs/benchmarks.md), and there are few admissions in a second.
const heapGrowth = 50

// limitGarbage sets how much room garbage has, unless GOGC says it.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
