// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
)

// table prints what was measured, a part as soon as it is there, and in the end what that is beside Docker's own.
type table struct {
	out    io.Writer
	ratios []string
}

// begin prints the head.
func begin(out io.Writer) *table {
	fmt.Fprintln(out, "| there already | callers | network | made and joined/s | left and deleted/s "+
		"| × docker's bridge, both | server CPU µs | server allocs |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	return &table{out: out}
}

// add prints the rows of one number of endpoints and callers.
func (t *table) add(held, callers int, measured []figures) {
	for i, f := range measured {
		attach, detach := ratio(f.attach, measured[0].attach), ratio(f.detach, measured[0].detach)
		cpu, allocations := "-", "-"
		if rows[i].name != peer {
			cpu = fmt.Sprintf("%.0f", f.server.seconds*1e6/float64(f.endpoints))
			allocations = fmt.Sprintf("%.0f", f.server.allocations/float64(f.endpoints))
		}
		fmt.Fprintf(t.out, "| %d | %d | %s | %.0f | %.0f | %.2f, %.2f | %s | %s |\n", held, callers, rows[i].name,
			median(f.attach), median(f.detach), attach, detach, cpu, allocations)
	}
	for i, f := range measured[1:] {
		t.ratios = append(t.ratios, fmt.Sprintf("%s, with %d there and %d at a time: "+
			"making and joining %.2f x docker's bridge, leaving and deleting %.2f x",
			rows[i+1].name, held, callers, ratio(f.attach, measured[0].attach), ratio(f.detach, measured[0].detach)))
	}
}

// end prints the ratios.
func (t *table) end() {
	fmt.Fprintln(t.out)
	for _, line := range t.ratios {
		fmt.Fprintln(t.out, line)
	}
}

// ratio is the median of the rounds' ratios.
func ratio(of, to []float64) float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i] / to[i]
	}
	return median(all)
}

// median is the middle one.
func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
