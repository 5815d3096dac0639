// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how cases are run.
type Options struct {
	// Workers is the number of cases to run in parallel; 1 when it is 0.
	Workers int
	// FailFast starts no more cases after one has failed.
	FailFast bool
	// Now is the clock.
	Now func() time.Time
	// Progress is called with the number of completed and failed cases, one call at a time; it may be nil.
	Progress func(done, failed int)
}

// Result is a case with its outcome.
type Result struct {
	Case *Case
	Outcome
	// Ran is false for a case that was not started, as another one had failed before.
	Ran  bool
	Took time.Duration
}

// Prepare prepares all cases at once.
func Prepare(ctx context.Context, cases []*Case) error {
	byKind := map[Kind][]*Case{}
	var order []Kind
	for _, c := range cases {
		if byKind[c.kind] == nil {
			order = append(order, c.kind)
		}
		byKind[c.kind] = append(byKind[c.kind], c)
	}
	for _, kind := range order {
		if err := kind.Prepare(ctx, byKind[kind]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Run runs the cases and returns their results in the same order. It fails only if the context ends.
func Run(ctx context.Context, cases []*Case, o Options) ([]Result, error) {
	var (
		results      = make([]Result, len(cases))
		next, failed atomic.Int64
		progress     sync.Mutex
		done         int
		workers      sync.WaitGroup
	)
	for i, c := range cases {
		results[i].Case = c
	}
	work := func() {
		for ctx.Err() == nil && (!o.FailFast || failed.Load() == 0) {
			i := int(next.Add(1) - 1)
			if i >= len(cases) {
				return
			}
			r := &results[i]
			r.run(ctx, o.Now)
			if !r.OK() {
				failed.Add(1)
			}
			progress.Lock()
			if done++; o.Progress != nil {
				o.Progress(done, int(failed.Load()))
			}
			progress.Unlock()
		}
	}
	for range max(1, o.Workers) {
		workers.Go(work)
	}
	workers.Wait()
	return results, ctx.Err()
}

func (r *Result) run(ctx context.Context, now func() time.Time) {
	began := now()
	r.Outcome = r.Case.Test.Run(ctx)
	r.Ran, r.Took = true, now().Sub(began)
}
