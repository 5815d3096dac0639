// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// describe says on what and with which bodies is measured.
func describe(out io.Writer, rows []*row) {
	fmt.Fprintf(out, "%s, %d CPUs, %s\n", processor(), runtime.NumCPU(), runtime.Version())
	for _, r := range rows {
		if strings.HasPrefix(r.name, "F1") {
			fmt.Fprintf(out, "%s: reviews of %d bytes\n", strings.TrimPrefix(r.name, "F1 "), len(r.body))
		}
	}
}

func processor() string {
	content, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}

// report writes the table, and the ratios of Graft line by line.
func report(out io.Writer, rows []*row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\npath\tµs/op\tserver CPU µs/op\tallocs/op\tkB/op\treq/s, 8 callers\t× F1\tCPU × F1\t")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\t%.2f\t%.2f\t\n", r.name,
			micros(typical(r, func(s round) time.Duration { return s.perOp })), micros(typical(r, func(s round) time.Duration { return s.cpu })),
			median(r, func(s round) float64 { return s.allocs }), median(r, func(s round) float64 { return s.bytes })/1000,
			-typical(r, func(s round) float64 { return -s.rate }), r.ratio(time1), r.ratio(cpu1))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, r := range rows {
		if name, ok := strings.CutPrefix(r.name, "Graft"); ok {
			fmt.Fprintf(out, "graft%s: %.2f x F1\n", name, r.ratio(time1))
		}
	}
	return nil
}

func time1(s round) float64 { return float64(s.perOp) }
func cpu1(s round) float64  { return float64(s.cpu) }

// ratio is the median over the rounds of what the row took, divided by what its floor took in the same round; or the best
// round of the one, divided by the best of the other.
func (r *row) ratio(of func(round) float64) float64 {
	if r.floor == nil {
		return 1
	}
	if r.least {
		return typical(r, of) / typical(r.floor, of)
	}
	ratios := make([]float64, len(r.rounds))
	for i := range r.rounds {
		ratios[i] = of(r.rounds[i]) / of(r.floor.rounds[i])
	}
	return middle(ratios)
}

// typical is the median, or the least where that is asked for.
func typical[T cmp.Ordered](r *row, of func(round) T) T {
	if !r.least {
		return median(r, of)
	}
	least := of(r.rounds[0])
	for _, s := range r.rounds {
		least = min(least, of(s))
	}
	return least
}

func median[T cmp.Ordered](r *row, of func(round) T) T {
	values := make([]T, len(r.rounds))
	for i, s := range r.rounds {
		values[i] = of(s)
	}
	return middle(values)
}

func middle[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
