// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command interpretation measures what it costs to answer Karmada: by Graft over the network beside the least that any webhook costs, and Graft's work alone
// beside scripts in Lua that give the same answers, run as Karmada runs them. docs/benchmarks.md explains the rows and keeps a table.
//
// The servers are a process of their own, so that their CPU time and allocations are counted apart from the caller's. In each round every row is measured
// in turn, and what is compared was measured in the same round; medians over the rounds are printed. Nothing here passes or fails by time.
//
// Enter at main; what is asked is in questions.go, the servers in server.go, and scripts in work.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
}

func main() {
	var o options
	flag.BoolVar(&o.serve, "serve", false, "be the servers; the command starts itself so")
	flag.IntVar(&o.rounds, "rounds", 21, "how often each row is measured")
	flag.DurationVar(&o.window, "window", 20*time.Millisecond, "how long each way of a row is measured in a round")
	flag.StringVar(&o.rows, "rows", ".", "regular expression of the rows to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.serve {
		return serve(ctx, os.Stdin, out)
	}
	chosen, err := regexp.Compile(o.rows)
	if err != nil {
		return fmt.Errorf("reading -rows: %w", err)
	}
	w, err := newWork()
	if err != nil {
		return err
	}
	defer w.close()
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	rows, err := prepare(ctx, s, w, chosen)
	if err != nil {
		return err
	}
	for i := range o.rounds {
		for _, r := range rows {
			if err := r.measure(ctx, s, w, o.window); err != nil {
				return fmt.Errorf("measuring %s: %w", r.name(), err)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, o.rounds)
	}
	report(out, rows)
	return nil
}
