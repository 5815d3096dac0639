// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command allocation measures the cost of an allocation through the service, on each store of the ledger, compared with
// the same store without the service. docs/benchmarks.md explains the rows and has a table. Each row allocates and
// releases in turn, so that the number of allocations stays the same, and counts transactions of the store. The store
// alone writes the same rows in its transactions, and is measured in the same rounds. All commits are durable. Times do
// not decide whether the command succeeds. Start reading at main; stores.go lists the stores, rows.go the measurements.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	stores  *regexp.Regexp
	rows    *regexp.Regexp
	sizes   []int
	rounds  int
	window  time.Duration
	etcd    string
	folder  string
	keep    bool
	profile string
}

func main() {
	o := options{}
	stores, rows, sizes := ".", ".", "100,100000,10000000"
	flag.StringVar(&stores, "stores", stores, "regular expression of the stores to measure: file, bbolt, etcd")
	flag.StringVar(&rows, "rows", rows, "regular expression of what to measure beside the store alone: service, wire")
	flag.StringVar(&sizes, "held", sizes,
		"how many allocations are held while it is measured; etcd holds at most a million")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each row is measured")
	flag.DurationVar(&o.window, "window", time.Second, "how long a row is measured in a round")
	flag.StringVar(&o.etcd, "etcd", ".cache/tools/bin/etcd", "the program etcd")
	flag.StringVar(&o.folder, "folder", "",
		"where the stores are and stay, so that the next run need not fill them; one in .cache without it, which is removed")
	flag.StringVar(&o.profile, "profile", "",
		"file for a CPU profile of the service with the most callers, or of the store alone where -rows leaves it out")
	flag.Parse()
	if err := o.complete(stores, rows, sizes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (o *options) complete(stores, rows, sizes string) (err error) {
	if o.stores, err = regexp.Compile(stores); err != nil {
		return fmt.Errorf("-stores: %w", err)
	}
	if o.rows, err = regexp.Compile(rows); err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 {
			return fmt.Errorf("-held: %q is no number of allocations", text)
		}
		o.sizes = append(o.sizes, size)
	}
	return nil
}

func run(ctx context.Context, o options) error {
	if o.keep = o.folder != ""; !o.keep {
		// Not the folder for temporary files: it may be in memory, where commits are not durable.
		const cache = ".cache"
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return err
		}
		folder, err := os.MkdirTemp(cache, "allocation-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		o.folder = folder
	}
	var results []*result
	for _, kind := range stores {
		if !o.stores.MatchString(kind.name) {
			continue
		}
		for _, size := range o.sizes {
			if kind.most > 0 && size > kind.most {
				size = kind.most
			}
			if len(results) > 0 && results[len(results)-1].store == kind.name && results[len(results)-1].held == size {
				continue
			}
			fmt.Fprintf(os.Stderr, "==> %s, %d held\n", kind.name, size)
			measured, err := measure(ctx, o, kind, size)
			if err != nil {
				return fmt.Errorf("measuring %s with %d held: %w", kind.name, size, err)
			}
			results = append(results, measured...)
		}
	}
	return report(os.Stdout, results)
}
