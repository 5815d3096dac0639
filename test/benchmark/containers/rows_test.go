// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTable checks the table of several rounds: medians, and the difference to the network none in the same round.
func TestTable(t *testing.T) {
	of := func(all ...int) (d []time.Duration) {
		for _, n := range all {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	var out strings.Builder
	table(&out, []*row{
		{name: "none", start: of(100, 900, 110), end: of(50, 60, 70), startOwn: of(0, 0, 0), endOwn: of(0, 0, 0)},
		{name: "other", start: of(130, 920, 150), end: of(51, 59, 75), startOwn: of(6, 7, 9), endOwn: of(30, 20, 10)},
	})
	const want = `| network | run, ms | the network | the provider | rm, ms | the network | the provider | n |
|---|---|---|---|---|---|---|---|
| none | 110 (100 to 900) | 0 |  | 60 (50 to 70) | 0 |  | 3 |
| other | 150 (130 to 920) | 30 | 7.0 | 59 (51 to 75) | 1 | 20.0 | 3 |
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
