// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/figure"
)

// report writes the tables, and the ratios row by row.
func report(out io.Writer, rows []*row) {
	fmt.Fprintf(out, "%s, %d CPUs, %s\n", figure.Processor(), runtime.NumCPU(), runtime.Version())
	fmt.Fprint(out, "\n| over the network | kB sent | F1 µs | graft µs | × F1 | F1 server CPU µs | graft server CPU µs | F1 allocs | graft allocs |\n"+
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %.1f | %.0f | %.0f | %.2f | %.0f | %.0f | %.0f | %.0f |\n", r.name(), float64(len(r.body))/1000,
			r.micros(func(o round) time.Duration { return o.floor.took }), r.micros(func(o round) time.Duration { return o.graft.took }), r.trips(),
			r.micros(func(o round) time.Duration { return o.floor.cpu }), r.micros(func(o round) time.Duration { return o.graft.cpu }),
			r.median(func(o round) float64 { return o.floor.allocs }), r.median(func(o round) float64 { return o.graft.allocs }))
	}
	fmt.Fprint(out, "\n| work alone | graft CPU µs | Lua CPU µs | Lua compiled once | graft allocs | Lua allocs | × Lua | × Lua compiled once |\n"+
		"|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f |\n", r.name(),
			r.micros(func(o round) time.Duration { return o.work.cpu }), r.micros(func(o round) time.Duration { return o.script.cpu }),
			r.micros(func(o round) time.Duration { return o.kept.cpu }),
			r.median(func(o round) float64 { return o.work.allocs }), r.median(func(o round) float64 { return o.script.allocs }), r.scripts(), r.compiled())
	}
	fmt.Fprintln(out)
	for _, r := range rows {
		fmt.Fprintf(out, "graft %s: %.2f x F1, %.2f x Lua\n", r.name(), r.trips(), r.scripts())
	}
}

// trips is the median of what a caller of Graft waits, divided by what one of the floor waits in the same round.
func (r *row) trips() float64 {
	return r.median(func(o round) float64 { return ratio(o.graft.took, o.floor.took) })
}

// scripts is that of Graft's work, divided by that of Lua as Karmada runs it.
func (r *row) scripts() float64 {
	return r.median(func(o round) float64 { return ratio(o.work.cpu, o.script.cpu) })
}

// compiled is the same with scripts that are compiled once.
func (r *row) compiled() float64 {
	return r.median(func(o round) float64 { return ratio(o.work.cpu, o.kept.cpu) })
}

// ratio divides; what took less than the clock shows took its smallest step.
func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, time.Microsecond)) }

func (r *row) micros(of func(round) time.Duration) float64 {
	return figure.Micros(figure.MedianOf(r.rounds, of))
}

func (r *row) median(of func(round) float64) float64 { return figure.MedianOf(r.rounds, of) }
