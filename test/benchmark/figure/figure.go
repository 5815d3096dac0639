// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package figure summarizes measurements. Start reading at Median.
package figure

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Median returns the middle value, the greater one of two. It panics without values.
func Median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// MedianOf returns the median of one value of each round.
func MedianOf[R any, T cmp.Ordered](rounds []R, of func(R) T) T {
	values := make([]T, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	return Median(values)
}

// Micros returns a duration in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Processor returns the name of the CPU, or the architecture if the kernel does not report the name.
func Processor() string {
	content, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}
