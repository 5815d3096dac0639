// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// TestMain runs the tests in namespaces of their own.
func TestMain(m *testing.M) {
	_ = os.Getenv("GRAFT_PROGRAMS") // results in the cache of go test are good as long as this is the same
	part, status := namespace.Enter("benchmark")
	if part != "" {
		status = m.Run()
	}
	os.Exit(status)
}

// TestMeasurementsPrintEachRow measures for a moment and checks all output except the figures.
func TestMeasurementsPrintEachRow(t *testing.T) {
	o := options{held: []int{1, 2}, callers: []int{2}, rounds: 1, batch: 2, folder: t.TempDir(),
		provider: "../../../bin/graft-network-provider", engine: "../../../.cache/bin/libnetwork/docker28"}
	var out bytes.Buffer
	if err := o.run(&out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if cells := strings.Split(line, " | "); len(cells) == 8 {
			got = append(got, strings.Join(cells[:3], " | "))
		} else if before, _, ok := strings.Cut(line, ":"); ok {
			got = append(got, before)
		}
	}
	want := []string{
		"| there already | callers | network",
		"| 1 | 2 | docker's bridge", "| 1 | 2 | graft",
		"| 1 | 2 | graft, addresses of a pool",
		"| 2 | 2 | docker's bridge", "| 2 | 2 | graft",
		"| 2 | 2 | graft, addresses of a pool",
		"graft, with 1 there and 2 at a time", "graft, addresses of a pool, with 1 there and 2 at a time",
		"graft, with 2 there and 2 at a time", "graft, addresses of a pool, with 2 there and 2 at a time",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("printed (-want +got)\n%s\n%s", diff, out.String())
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string][]int{"10": {10}, "1, 16": {1, 16}, "": nil, "0": nil, "1,x": nil} {
		got, err := numbers(text)
		if diff := cmp.Diff(want, got); diff != "" && want != nil || (err != nil) != (want == nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestRatio(t *testing.T) {
	if got := ratio([]float64{1, 4, 9}, []float64{1, 2, 3}); got != 2 {
		t.Errorf("the median of 1, 2 and 3 is %v", got)
	}
}
