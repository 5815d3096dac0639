// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command benchmark measures what an admission costs: on the way through Graft, through Gardener's extension library,
// and through handlers that do less and less down to the bare transport. docs/benchmarks.md explains the rows and keeps
// a table.
//
// The server is a separate process, so that its CPU time and allocations are counted apart from the caller's. It
// speaks TLS
// 1.3 and HTTP/1.1 with kept connections, as kube-apiserver calls webhooks. In each round every row is measured in
// turn, and a row is compared with its floor in the same round; the medians over the rounds are printed. Nothing here
// passes or fails by time.
//
// Enter at main; rows are listed in rows.go, handlers in floor.go, library.go and graft.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	serve  bool
	rounds int
	window time.Duration
	rows   string
	least  bool
	folder string
}

func main() {
	var o options
	flag.BoolVar(&o.serve, "serve", false, "be the server; the command starts itself so")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each row is measured")
	flag.DurationVar(&o.window, "window", 250*time.Millisecond,
		"how long a row is measured in a round with one caller, and again with eight")
	flag.StringVar(&o.rows, "rows", ".", "regular expression of the rows to measure; the floors are always measured")
	flag.BoolVar(&o.least, "least", false,
		"report the best round of each row instead of the median, for a machine that others use; with many short rounds")
	flag.StringVar(&o.folder, "testdata", filepath.Join("test", "benchmark", "testdata"),
		"folder with the objects and profiles")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.serve {
		return serve(ctx, o.folder)
	}
	chosen, err := regexp.Compile(o.rows)
	if err != nil {
		return fmt.Errorf("reading -rows: %w", err)
	}
	s, err := start(ctx, o.folder)
	if err != nil {
		return err
	}
	defer s.Stop()
	rows, err := prepare(ctx, s, o.folder, chosen)
	if err != nil {
		return err
	}
	describe(os.Stdout, rows)
	for i := range o.rounds {
		for _, r := range rows {
			if err := r.measure(ctx, s, o.window); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, o.rounds)
	}
	for _, r := range rows {
		r.least = o.least
	}
	return report(os.Stdout, rows)
}
