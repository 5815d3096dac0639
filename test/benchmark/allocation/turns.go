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

// turn is how long a row is measured before it is the next one's turn. What a store does in the background, such as
// compactions, takes longer, and falls on all rows alike.
const turn = 200 * time.Millisecond

// turns measures the rows, round for round, each time on a store that has come to rest. The store alone and the service
// take short turns, and another one begins each time, so that the state of the store is the same for both; nothing is
// compared with the wire, which follows.
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

// split are the rows with so many callers that are compared, and the others.
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

// recorded writes a profile of the processors beside.
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

// add lets callers work for a time.
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

// round is all of it, for one transaction.
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

// cpu is the time that the processors have spent on this process.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // which cannot fail for oneself
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
