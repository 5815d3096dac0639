// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"
)

// turn is the duration of one measurement of a row. Background work of a store, such as a compaction, takes longer, so
// that it affects all rows equally.
const turn = 200 * time.Millisecond

// turns measures the rows round by round, each time on a store without background work. The store alone and the service
// are measured in short turns, in alternating order, so that the state of the store is the same for both. The
// measurements over the network follow; they are not compared.
func turns(ctx context.Context, o options, results []*result, cycles map[string]cycle) error {
	for i := range o.rounds {
		for _, n := range callers {
			compared, apart := split(results, n)
			settle(ctx)
			sums := make([]sum, len(compared))
			for t := range max(1, int(o.window/turn)) {
				for k := range compared {
					at := (i + t + k) % len(compared)
					if err := sums[at].add(ctx, min(turn, o.window), n, cycles[compared[at].what]); err != nil {
						return err
					}
				}
			}
			for at, r := range compared {
				r.rounds = append(r.rounds, sums[at].round())
			}
			for _, r := range apart {
				var whole sum
				if err := whole.add(ctx, o.window, n, cycles[r.what]); err != nil {
					return err
				}
				r.rounds = append(r.rounds, whole.round())
			}
		}
	}
	if o.profile == "" {
		return nil
	}
	settle(ctx)
	return recorded(o.profile, func() error {
		what := "store"
		if cycles["service"] != nil && o.rows.MatchString("service") {
			what = "service"
		}
		var s sum
		return s.add(ctx, o.window, callers[len(callers)-1], cycles[what])
	})
}

// split returns the rows with the given number of callers that are compared, and the other rows.
func split(results []*result, callers int) (compared, apart []*result) {
	for _, r := range results {
		switch {
		case r.callers != callers:
		case r.what == "wire":
			apart = append(apart, r)
		default:
			compared = append(compared, r)
		}
	}
	return compared, apart
}

// recorded writes a CPU profile while do runs.
func recorded(path string, do func() error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return do()
}

// sum is the result of a row's turns in a round.
type sum struct {
	spans     []time.Duration
	took, cpu time.Duration
	allocs    uint64
}

// add runs callers for the given time.
func (s *sum) add(ctx context.Context, length time.Duration, callers int, do cycle) error {
	var (
		group   sync.WaitGroup
		spans   = make([][]time.Duration, callers)
		errs    = make([]error, callers)
		memory  = allocations()
		used    = cpu()
		begin   = time.Now()
		another = func() bool { return time.Since(begin) < length && ctx.Err() == nil }
	)
	for i := range callers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(begin.UnixNano()), uint64(i)))
			for another() && errs[i] == nil {
				from := time.Now()
				errs[i] = do(ctx, nameOf(random.Uint64()))
				spans[i] = append(spans[i], time.Since(from)/2)
			}
		})
	}
	group.Wait()
	s.took += time.Since(begin)
	s.cpu += cpu() - used
	s.allocs += allocations() - memory
	s.spans = append(s.spans, slices.Concat(spans...)...)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// round returns the sum divided by the number of transactions.
func (s *sum) round() round {
	slices.Sort(s.spans)
	transactions := float64(2 * len(s.spans))
	return round{
		rate: transactions / s.took.Seconds(), cpu: float64(s.cpu) / transactions, allocs: float64(s.allocs) / transactions,
		p50: s.spans[len(s.spans)/2], p99: s.spans[len(s.spans)*99/100],
	}
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpu returns the CPU time of this process.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for the own process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
