// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package figure is what becomes of measurements before they are printed. Enter at Median.
package figure

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Median is the middle one, of two in the middle the greater. There must be one.
func Median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// MedianOf is the median of what rounds have of something.
func MedianOf[R any, T cmp.Ordered](rounds []R, of func(R) T) T {
	values := make([]T, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	return Median(values)
}

// Micros are microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Processor is the name of what measures, or its architecture where the kernel does not tell.
func Processor() string {
	content, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}
