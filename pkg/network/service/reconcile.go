// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The pause between attempts for an owner doubles from the first to the last: a broken cloud gets few calls, and a
// repaired one is noticed within a minute.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// reconciler completes work that no request of this process handles: releases, and intents of owners that do not return
// or of dead servers, which it rolls back. Owners wait in one queue per cloud, so that a hanging cloud delays only itself.
type reconciler struct {
	*Service
	mutex  sync.Mutex
	queues map[string]workqueue.TypedRateLimitingInterface[network.Owner]
	// start starts the workers of a queue. It is set while Run runs.
	start func(queue workqueue.TypedRateLimitingInterface[network.Owner])
	// releases are the releases that are known to be unfinished.
	releases map[network.Owner]struct{}
	// again requests a scan.
	again chan struct{}
}

func (r *reconciler) init(s *Service) {
	r.Service, r.queues = s, map[string]workqueue.TypedRateLimitingInterface[network.Owner]{}
	r.releases, r.again = map[network.Owner]struct{}{}, make(chan struct{}, 1)
}

// jitter is a rate limiter with pauses that are shortened randomly, down to a half.
type jitter struct {
	workqueue.TypedRateLimiter[network.Owner]
	random func() float64
}

// When implements workqueue.TypedRateLimiter.
func (l jitter) When(owner network.Owner) time.Duration {
	pause := l.TypedRateLimiter.When(owner)
	if l.random != nil {
		pause -= time.Duration(l.random() * float64(pause) / 2)
	}
	return pause
}

// enqueue adds an owner to the queue of a cloud after a delay. Before Run, it does nothing: Run adds all unfinished work.
func (r *reconciler) enqueue(cloud string, owner network.Owner, delay time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.start == nil {
		return
	}
	if r.queues[cloud] == nil {
		r.queues[cloud] = workqueue.NewTypedRateLimitingQueueWithConfig(
			jitter{workqueue.NewTypedItemExponentialFailureRateLimiter[network.Owner](firstPause, lastPause), r.options.Random},
			workqueue.TypedRateLimitingQueueConfig[network.Owner]{Clock: r.options.Clock})
		r.start(r.queues[cloud])
	}
	r.queues[cloud].AddAfter(owner, delay)
}

// queueOf returns the name of the queue of an allocation.
func (r *reconciler) queueOf(a network.Allocation) string {
	if of, err := r.backend(a); err == nil && of.name == "" && of.Cloud != nil {
		return "the pool " + a.Pool
	}
	return cmp.Or(a.Cloud, "the pool "+a.Pool)
}

// add queues an allocation, unless its cloud is unknown: then it waits until the cloud is configured.
func (r *reconciler) add(a network.Allocation) {
	if first, err := r.track(a); err == nil {
		r.enqueue(r.queueOf(a), a.Owner, 0)
	} else if first {
		r.options.Report(a.Owner, err)
	}
}

// track remembers an unfinished release, and returns an error if its cloud is unknown. first reports that the release was
// not known before.
func (r *reconciler) track(a network.Allocation) (first bool, err error) {
	if _, err = r.backend(a); !errors.Is(err, errUnknownCloud) {
		err = nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, known := r.releases[a.Owner]
	if a.State == network.Releasing {
		r.releases[a.Owner] = struct{}{}
	}
	return !known, err
}

// scanAgain requests a scan, because another server has ended or a cloud has become known.
func (r *reconciler) scanAgain() {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// untrack notes that nothing of an owner is left to do.
func (r *reconciler) untrack(owner network.Owner) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.releases, owner)
}

const (
	// tick is the interval between checks of quarantines, which are configured in seconds. round is the interval
	// between checks of all unfinished allocations, in addition to the notifications of changes.
	tick  = time.Second
	round = 10 * time.Minute
)

// run implements Service.Run.
func (r *reconciler) run(ctx context.Context) {
	var group sync.WaitGroup
	r.mutex.Lock()
	r.start = func(queue workqueue.TypedRateLimitingInterface[network.Owner]) {
		for range r.options.Releasers {
			group.Go(func() { r.process(ctx, queue) })
		}
	}
	r.mutex.Unlock()
	r.ledger.OnAbandoned(r.scanAgain)
	group.Go(func() { r.watchTime(ctx) })
	<-ctx.Done()
	r.mutex.Lock()
	r.start = nil
	for _, queue := range r.queues {
		queue.ShutDown()
	}
	clear(r.queues)
	r.mutex.Unlock()
	r.work.finish()
	group.Wait()
}

// watchTime ends quarantines at each tick. It scans all unfinished allocations at its start, after each round, and when
// requested.
func (r *reconciler) watchTime(ctx context.Context) {
	ticker := r.options.Clock.NewTicker(tick)
	defer ticker.Stop()
	last := r.options.Clock.Now()
	look := func() {
		last = r.options.Clock.Now()
		if err := r.scan(ctx, false); err != nil && ctx.Err() == nil {
			r.options.Report(network.Owner{}, err)
		}
	}
	look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.again:
			look()
		case now := <-ticker.C():
			if _, err := r.ledger.Expire(ctx, now); err != nil && ctx.Err() == nil {
				r.options.Report(network.Owner{}, err)
			}
			if now.Sub(last) >= round {
				look()
			}
		}
	}
}

// process works on the owners of a queue until it is shut down.
func (r *reconciler) process(ctx context.Context, queue workqueue.TypedRateLimitingInterface[network.Owner]) {
	for {
		owner, shutdown := queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			again, err := r.reconcile(owner, false)
			switch {
			case errors.Is(err, errShuttingDown):
			case err != nil:
				r.options.Report(owner, err)
				queue.AddRateLimited(owner)
			case again > 0:
				queue.AddAfter(owner, again)
			default:
				queue.Forget(owner)
			}
		}
		queue.Done(owner)
	}
}

// reconcile does the remaining work for an owner. It returns the time after which it should be called again, or 0 if
// nothing remains. At the start of the server, no intent waits for its owner.
func (r *reconciler) reconcile(owner network.Owner, starting bool) (again time.Duration, err error) {
	done, err := r.work.begin(true)
	if err != nil {
		return 0, err
	}
	defer done()
	err = r.withBudget(context.Background(), owner, r.options.Budget, func(ctx context.Context) error {
		unlock, err := r.owners.Lock(ctx, owner.String())
		if err != nil {
			return err
		}
		defer unlock()
		a, err := r.ledger.Get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) {
			r.untrack(owner)
			return nil
		}
		if err != nil {
			return err
		}
		do, when, err := r.plan(ctx, a, starting)
		switch {
		case err != nil:
			return err
		case do == wait:
			again = max(when.Sub(r.options.Clock.Now()), time.Millisecond)
			return nil
		case do == undo:
			return r.rollBack(ctx, a)
		case do == unbind:
			if _, unknown := r.track(a); unknown != nil {
				return nil // it waits for its cloud, which was reported
			}
			if err := r.finishRelease(ctx, a, true); err != nil {
				return err
			}
		}
		r.untrack(owner)
		return nil
	})
	return again, err
}

// plan returns the next action (transitions.go) for an allocation that no request of this process handles, and for wait the time of the next
// check. At the start of the server, no intent waits for its owner.
func (r *reconciler) plan(ctx context.Context, a network.Allocation, starting bool) (action, time.Time, error) {
	now, own := r.options.Clock.Now(), a.Worker == r.ledger.Server()
	if !own {
		if alive, err := r.ledger.Alive(ctx, a.Worker); err != nil || alive && a.State != network.Bound {
			return wait, now.Add(workerCheck), err
		}
	}
	// The owner may ask again until all its requests have ended.
	abandoned := a.Since.Add(2*r.options.Budget + time.Minute)
	retried := !starting && (own || a.Worker == "") && !a.Since.Before(r.started)
	switch {
	case a.State == network.Bound:
		return nothing, time.Time{}, nil
	case a.State == network.Releasing && a.BindUntil.After(now):
		return wait, a.BindUntil, nil
	case a.State == network.Releasing:
		return unbind, time.Time{}, nil
	case retried && abandoned.After(now):
		return wait, abandoned, nil
	}
	return undo, time.Time{}, nil
}

// scan reads all unfinished allocations, queues the releases, and rolls back the intents of requests that have ended.
// It forgets releases that were finished elsewhere. It calls no cloud.
func (r *reconciler) scan(ctx context.Context, starting bool) error {
	var ended []network.Owner
	waiting, reasons := map[string]int{}, map[string]error{}
	r.mutex.Lock()
	finished := maps.Clone(r.releases)
	r.mutex.Unlock()
	err := r.ledger.Unfinished(ctx, func(a network.Allocation) error {
		delete(finished, a.Owner)
		if _, served := r.active.Load().pools[a.Pool]; !served {
			return nil // by another server
		}
		if a.State == network.Releasing {
			if first, err := r.track(a); err == nil {
				r.enqueue(r.queueOf(a), a.Owner, 0)
			} else if first {
				waiting[a.Cloud]++ // all of them are reported together
				reasons[a.Cloud] = err
			}
			return nil
		}
		do, when, err := r.plan(ctx, a, starting)
		switch do {
		case undo:
			ended = append(ended, a.Owner)
		case wait:
			r.enqueue(r.queueOf(a), a.Owner, when.Sub(r.options.Clock.Now()))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading unfinished allocations: %w", err)
	}
	for owner := range finished {
		r.untrack(owner)
	}
	for _, cloud := range slices.Sorted(maps.Keys(waiting)) {
		r.options.Report(network.Owner{}, fmt.Errorf("releases wait for their cloud (%d): %w", waiting[cloud], reasons[cloud]))
	}
	var group errgroup.Group
	group.SetLimit(maximumRollbacks)
	for _, owner := range ended {
		group.Go(func() error {
			if r.owners.IsLocked(owner.String()) {
				return nil // by a request, which completes it
			}
			if _, err := r.reconcile(owner, starting); err != nil && ctx.Err() == nil {
				r.options.Report(owner, err)
			}
			return nil
		})
	}
	_ = group.Wait()
	return ctx.Err()
}

// maximumRollbacks limits how many intents are rolled back at a time: stores commit several with one flush.
const maximumRollbacks = 16

// rollBack releases an intent of a request that has ended without an answer. If the first allocation of the request is
// bound, the request was about to be answered, and the intent is completed.
func (r *reconciler) rollBack(ctx context.Context, a network.Allocation) error {
	completed, err := r.ledger.Completed(ctx, a)
	if err != nil {
		return err
	}
	if completed {
		return r.completeAll(ctx, []network.Allocation{a})
	}
	if a, err = r.becomeWorker(ctx, a); errors.Is(err, errReleased) {
		return nil
	} else if err != nil {
		return err
	}
	switch of, err := r.backend(a); {
	case err == nil && of.Cloud == nil:
		return r.deleteUnchanged(ctx, a, 0)
	case err != nil && !errors.Is(err, errUnknownCloud):
		return err
	}
	return r.undo(ctx, a, false)
}
