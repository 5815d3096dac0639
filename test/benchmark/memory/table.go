// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const header = `| shoots | program | ready, s | resident: listed, MB | 100 admitted | all admitted | at most ` +
	`| live heap | first admission, ms | again | Clusters got |
|---|---|---|---|---|---|---|---|---|---|---|
`

// report writes the table, and the growth per shoot between two numbers of shoots.
func report(out io.Writer, rows []row) error {
	var text strings.Builder
	text.WriteString(header)
	last := map[string]row{}
	var growth strings.Builder
	for _, r := range rows {
		if r.none {
			fmt.Fprintf(&text, "| %d | %s | not enough memory | | | | | | | | |\n", r.shoots, r.program)
			continue
		}
		fmt.Fprintf(&text, "| %d | %s | %.2f | %s | %s | %s | %s | %s | %.1f | %.1f | %d |\n", r.shoots, r.program,
			r.ready.Seconds(),
			megabytes(r.filled), megabytes(r.hundred), megabytes(r.all), megabytes(r.most), megabytes(r.live), millis(r.first),
			millis(r.again), r.got)
		if before, ok := last[r.program]; ok {
			fmt.Fprintf(&growth, "%s, %d to %d shoots: a shoot adds %.1f KB resident (%.1f KB before admissions, %.1f KB at "+
				"most), %.1f KB of live heap\n",
				r.program, before.shoots, r.shoots, r.growth(before, func(r row) int64 { return r.all }),
				r.growth(before, func(r row) int64 { return r.filled }),
				r.growth(before, func(r row) int64 { return r.most }), r.growth(before, func(r row) int64 { return r.live }))
		}
		last[r.program] = r
	}
	_, err := fmt.Fprintf(out, "%s\n%s", text.String(), growth.String())
	return err
}

// growth returns the thousands of bytes that a shoot adds.
func (r row) growth(before row, of func(row) int64) float64 {
	return float64(of(r)-of(before)) / float64(r.shoots-before.shoots) / 1000
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/1e6) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
