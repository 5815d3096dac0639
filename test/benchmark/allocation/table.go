// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// report writes the tables, and for each row the ratios to the store alone and to the row with the fewest allocations.
func report(out io.Writer, results []*result) error {
	fmt.Fprintf(out, "%d CPUs, %s\n", runtime.NumCPU(), runtime.Version())
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nstore\theld\tcallers\twhat\ttransactions/s\tµs CPU\tallocs\tp50 µs\tp99 µs\t")
	for _, r := range results {
		if r.what == "open" {
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%.0f\t%.1f\t%.0f\t%.0f\t%.0f\t\n", r.store, r.held, r.callers, r.what,
			r.median(func(x round) float64 { return x.rate }), r.median(func(x round) float64 { return x.cpu })/1000,
			r.median(func(x round) float64 { return x.allocs }),
			r.median(func(x round) float64 { return micros(x.p50) }), r.median(func(x round) float64 { return micros(x.p99) }))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, r := range results {
		if r.what == "open" {
			fmt.Fprintf(out, "%s: %d held take %.0f MB on the disk\n", r.store, r.held, float64(r.disk)/1e6)
		}
		switch {
		case r.what == "open" && r.opening > 0:
			fmt.Fprintf(out, "%s: opening a ledger of %d takes %s and %.1f MB of memory\n", r.store, r.held,
				r.opening.Round(time.Millisecond), float64(r.memory)/1e6)
		case r.what == "service":
			ratios := r.beside(results)
			fmt.Fprintf(out, "graft on %s, %d held, %d callers: %.0f %% of the store alone (in its rounds %.0f to %.0f)\n",
				r.store, r.held, r.callers,
				100*ratios[len(ratios)/2], 100*ratios[0], 100*ratios[len(ratios)-1])
		}
	}
	for _, r := range results {
		if least := r.least(results); least != nil && least != r {
			fmt.Fprintf(out, "%s on %s, %d callers: %.2f x with %d held what it takes with %d\n", r.what, r.store, r.callers,
				least.median(rate)/r.median(rate), r.held, least.held)
		}
	}
	return nil
}

func rate(x round) float64 { return x.rate }

// beside returns the ratios to the store alone, one for each round.
func (r *result) beside(results []*result) []float64 {
	i := slices.IndexFunc(results, func(o *result) bool {
		return o.store == r.store && o.held == r.held && o.callers == r.callers && o.what == "store"
	})
	ratios := make([]float64, len(r.rounds))
	for n := range r.rounds {
		ratios[n] = r.rounds[n].rate / results[i].rounds[n].rate
	}
	slices.Sort(ratios)
	return ratios
}

// least returns the row of the same measurement with the fewest allocations.
func (r *result) least(results []*result) *result {
	i := slices.IndexFunc(results, func(o *result) bool {
		return o.store == r.store && o.callers == r.callers && o.what == r.what && o.what != "open"
	})
	if i < 0 {
		return nil
	}
	return results[i]
}

func (r *result) median(of func(round) float64) float64 {
	values := make([]float64, len(r.rounds))
	for i, x := range r.rounds {
		values[i] = of(x)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
