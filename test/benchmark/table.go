// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/figure"
)

// describe writes the environment and the sizes of the bodies.
func describe(out io.Writer, rows []*row) {
	fmt.Fprintf(out, "%s, %d CPUs, %s\n", figure.Processor(), runtime.NumCPU(), runtime.Version())
	for _, r := range rows {
		if strings.HasPrefix(r.name, "F1") {
			fmt.Fprintf(out, "%s: reviews of %d bytes\n", strings.TrimPrefix(r.name, "F1 "), len(r.body))
		}
	}
}

// report writes the table, and the ratios of each of Graft's rows.
func report(out io.Writer, rows []*row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\npath\tµs/op\tserver CPU µs/op\tallocs/op\tkB/op\treq/s, 8 callers\t× F1\tCPU × F1\t")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\t%.2f\t%.2f\t\n", r.name,
			figure.Micros(figure.MedianOf(r.rounds, func(s round) time.Duration { return s.perOp })),
			figure.Micros(figure.MedianOf(r.rounds, func(s round) time.Duration { return s.cpu })),
			figure.MedianOf(r.rounds, func(s round) float64 { return s.allocs }),
			figure.MedianOf(r.rounds, func(s round) float64 { return s.bytes })/1000,
			figure.MedianOf(r.rounds, func(s round) float64 { return s.rate }), r.ratio(timeRatio), r.ratio(cpuRatio))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := reportLatencies(out, rows); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, r := range rows {
		if name, ok := strings.CutPrefix(r.name, "Graft"); ok {
			fmt.Fprintf(out, "graft%s: %.2f x F1\n", name, r.ratio(timeRatio))
		}
	}
	return nil
}

// reportLatencies writes the latencies of slow calls for each row, with one caller.
func reportLatencies(out io.Writer, rows []*row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\npath\tp50 µs\tp99 µs\tp99.9 µs\t× F1\t× F1\t× F1\t")
	for _, r := range rows {
		floor := cmp.Or(r.floor, r)
		fmt.Fprintf(table, "%s\t", r.name)
		for _, percent := range percentiles {
			fmt.Fprintf(table, "%.0f\t", figure.Micros(percentile(r.latencies, percent)))
		}
		for _, percent := range percentiles {
			fmt.Fprintf(table, "%.2f\t", float64(percentile(r.latencies, percent))/float64(percentile(floor.latencies, percent)))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

var percentiles = []float64{50, 99, 99.9}

// percentile returns the time within which a part of the calls was answered.
func percentile(all []time.Duration, percent float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*percent/100))]
}

func timeRatio(s, _ round) float64    { return s.ratio }
func cpuRatio(s, floor round) float64 { return float64(s.cpu) / float64(floor.cpu) }

// ratio returns the median over the rounds of a row's ratio to its floor in the same round.
func (r *row) ratio(of func(s, floor round) float64) float64 {
	if r.floor == nil {
		return 1
	}
	ratios := make([]float64, len(r.rounds))
	for i := range r.rounds {
		ratios[i] = of(r.rounds[i], r.floor.rounds[i])
	}
	return figure.Median(ratios)
}
