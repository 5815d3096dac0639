// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command benchmark measures the cost of an admission: through Graft, through Gardener's extension library, and through
// handlers with less and less code, down to the transport alone. docs/benchmarks.md explains the rows and has a table.
// The server is a separate process, so that its CPU time and allocations are counted without those of the caller. It
// uses TLS 1.3 and HTTP/1.1 with persistent connections, as kube-apiserver does for webhooks. Each round measures every
// row, and calls it and its floor in turn to compare them. The command prints the medians over the rounds. Times do
// not decide whether it succeeds. Start reading at main; rows.go lists the rows, and floor.go, library.go and graft.go
// have the handlers.
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
	folder string
}

func main() {
	var o options
	flag.BoolVar(&o.serve, "serve", false, "be the server; the command starts itself so")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each row is measured")
	flag.DurationVar(&o.window, "window", 250*time.Millisecond,
		"how long a row is measured in a round with one caller, and again with eight")
	flag.StringVar(&o.rows, "rows", ".", "regular expression of the rows to measure; the floors are always measured")
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
	return report(os.Stdout, rows)
}
