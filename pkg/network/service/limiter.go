// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Limit limits the calls to a cloud.
type Limit struct {
	// Rate is the number of requests per second; 0 means no limit. Burst is the number of requests that may be sent at
	// once after a pause, at least 1.
	Rate  float64
	Burst int
	// Parallel is the maximum number of concurrent calls; 0 means no limit.
	Parallel int
}

// Limiter limits the calls to one cloud, and predicts whether a call would complete in time. One call after the other waits
// in line for a slot, for the end of a pause that the cloud requested, and for the rate. The pools of the cloud share it.
// It is safe for concurrent use; a nil Limiter is unlimited.
type Limiter struct {
	name  string
	limit Limit
	clock clock.Clock
	// bucket limits the rate, and slots the concurrent calls to a number, parallel.
	bucket   *rate.Limiter
	slots    *semaphore.Weighted
	parallel int
	// head is held by the next call. Only a limited number of calls of each kind wait for it at a time, which defines
	// the share of each kind: calls for allocations are more frequent than releases.
	head, binds, unbinds *semaphore.Weighted

	mutex sync.Mutex
	// waitingBinds and waitingUnbinds are how many calls wait, and running how many are under way.
	waitingBinds, waitingUnbinds, running int
	// typical is the moving average of the duration of calls; 0 before the first call.
	typical time.Duration
	// pausedUntil is the end of the pause that the cloud requested.
	pausedUntil time.Time
}

const (
	// releaseShare makes every eighth call a release under full load, because releases free resources.
	releaseShare = 8
	// maximumWaiting limits the number of waiting calls for allocations: callers of a hanging cloud may have
	// disconnected, and nothing else limits them.
	maximumWaiting = 1024
	// weight is the weight of a new call in the moving average, as a divisor.
	weight = 4
)

// NewLimiter returns the limiter of the cloud with a name.
func NewLimiter(name string, limit Limit, c clock.Clock) *Limiter {
	parallel := limit.Parallel
	if parallel == 0 {
		parallel = math.MaxInt
	}
	bucket := rate.NewLimiter(rate.Inf, 1)
	if limit.Rate > 0 {
		bucket = rate.NewLimiter(rate.Limit(limit.Rate), max(1, limit.Burst))
	}
	return &Limiter{
		name: name, limit: limit, clock: c, bucket: bucket, slots: semaphore.NewWeighted(int64(parallel)), parallel: parallel,
		head: semaphore.NewWeighted(1), binds: semaphore.NewWeighted(releaseShare - 1), unbinds: semaphore.NewWeighted(1),
	}
}

// Limit returns the limits.
func (l *Limiter) Limit() Limit { return l.limit }

// Load describes the current calls of a cloud.
type Load struct {
	// Binds and Unbinds are how many wait, and Running how many calls are under way.
	Binds, Unbinds, Running int
	// Typical is the recent duration of a call.
	Typical time.Duration
	// Paused is the remaining pause that the cloud has requested.
	Paused time.Duration
}

// Load returns the current load.
func (l *Limiter) Load() Load {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return Load{l.waitingBinds, l.waitingUnbinds, l.running, l.typical, max(0, l.pausedUntil.Sub(l.clock.Now()))}
}

// admit returns places in the queue for n calls if the last of them would complete before the deadline and the queue is
// not full. Otherwise it returns a *network.Busy.
func (l *Limiter) admit(n int, deadline time.Time) ([]*turn, error) {
	turns := make([]*turn, n)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock.Now()
	late := l.estimate(now, l.waitingBinds+n-1) - deadline.Sub(now)
	if late > 0 || l.waitingBinds > 0 && l.waitingBinds+n > maximumWaiting {
		after := max(minimumRetryAfter, min(maximumRetryAfter, late))
		return nil, &network.Busy{RetryAfter: after.Round(time.Millisecond), Of: l.name}
	}
	for i := range turns {
		turns[i] = &turn{limiter: l, share: l.binds, waiting: &l.waitingBinds}
	}
	l.waitingBinds += n
	return turns, nil
}

// enqueue returns a place in the queue for a bind or a release, without a limit on its length.
func (l *Limiter) enqueue(release bool) *turn {
	if l == nil {
		return nil
	}
	share, waiting := l.binds, &l.waitingBinds
	if release {
		share, waiting = l.unbinds, &l.waitingUnbinds
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	*waiting++
	return &turn{limiter: l, share: share, waiting: waiting}
}

// estimate estimates the time until a call completes with this number of calls ahead of it. Without running calls, it
// ignores earlier durations: otherwise those of a slow period would remain.
func (l *Limiter) estimate(now time.Time, ahead int) time.Duration {
	wait := max(0, l.pausedUntil.Sub(now))
	ahead += min(l.waitingUnbinds, ahead/releaseShare)
	if missing := float64(ahead+1) - l.bucket.TokensAt(now); missing > 0 {
		wait += time.Duration(missing / float64(l.bucket.Limit()) * float64(time.Second))
	}
	wait = max(wait, time.Duration((l.running+ahead)/l.parallel)*l.typical)
	if l.running > 0 || l.waitingBinds > 0 {
		wait += l.typical
	}
	return wait
}

// The bounds of the Retry-After of refused calls. HTTP sends whole seconds (RFC 9110, 10.2.3).
const (
	minimumRetryAfter = time.Second
	maximumRetryAfter = time.Minute
)

// delay returns the time that the next call must wait. If it is 0, the call is counted.
func (l *Limiter) delay() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock.Now()
	if closed := l.pausedUntil.Sub(now); closed > 0 {
		return closed
	}
	r := l.bucket.ReserveN(now, 1)
	pause := r.DelayFrom(now)
	if pause > 0 {
		r.CancelAt(now)
	}
	return pause
}

// waitForRate waits until the cloud may be called.
func (l *Limiter) waitForRate(ctx context.Context) error {
	for {
		pause := l.delay()
		if pause <= 0 {
			return ctx.Err()
		}
		select {
		case <-l.clock.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// turn is a place in the queue of a limiter for one call. It is used once, or canceled. A nil turn does not wait.
type turn struct {
	limiter *Limiter
	share   *semaphore.Weighted
	// waiting counts the place while done is false. The mutex of the limiter guards both.
	waiting *int
	done    bool
}

// wait returns when the call may be made.
func (p *turn) wait(ctx context.Context) error {
	l := p.limiter
	if err := p.share.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := l.head.Acquire(ctx, 1); err != nil {
		p.share.Release(1)
		return err
	}
	defer l.head.Release(1)
	defer p.share.Release(1) // first, so that the next one of the kind is queued after the others
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := l.waitForRate(ctx); err != nil {
		l.slots.Release(1)
		return err
	}
	return nil
}

// do makes the call when its turn comes. If the cloud requests a pause that ends before the deadline of ctx, do repeats
// the call after the pause, ahead of all waiting calls; a release is not repeated. It fails with the error of the call,
// or with network.ErrUnavailable if its turn did not come in time.
func (p *turn) do(ctx context.Context, call func() error) error {
	if p == nil {
		return call()
	}
	l := p.limiter
	err := p.wait(ctx)
	if p.cancel(); err != nil {
		return fmt.Errorf("%w: the call of %s was not made in time: %w", network.ErrUnavailable, l.name, err)
	}
	defer l.slots.Release(1)
	l.addRunning(1)
	defer l.addRunning(-1)
	for {
		began := l.clock.Now()
		err := call()
		after := l.observe(began, err)
		deadline, bounded := ctx.Deadline()
		if after == 0 || p.share == l.unbinds || bounded && deadline.Sub(l.clock.Now()) <= after {
			return err
		}
		if err := l.waitForRate(ctx); err != nil {
			return fmt.Errorf("%w: the call of %s was not made in time: %w", network.ErrUnavailable, l.name, err)
		}
	}
}

// addRunning counts running calls.
func (l *Limiter) addRunning(change int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running += change
}

// observe records the duration and the result of a call. If the cloud requested a pause, it pauses all
// calls for that time, and returns it.
func (l *Limiter) observe(began time.Time, err error) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock.Now()
	took := now.Sub(began)
	if l.typical == 0 {
		l.typical = took
	}
	l.typical += (took - l.typical) / weight
	after := requestedPause(err)
	if end := now.Add(after); after > 0 && end.After(l.pausedUntil) {
		l.pausedUntil = end
		if saved := int(l.bucket.TokensAt(end)); saved > 1 {
			l.bucket.AllowN(end, saved-1) // otherwise many calls would follow the pause at once
		}
	}
	return after
}

// cancel releases the place. It ignores a place that was used or released before.
func (p *turn) cancel() {
	if p == nil {
		return
	}
	p.limiter.mutex.Lock()
	defer p.limiter.mutex.Unlock()
	if !p.done {
		p.done = true
		*p.waiting--
	}
}

// requestedPause returns the pause that a cloud requested, or 0.
func requestedPause(err error) time.Duration {
	if requested, ok := errors.AsType[*cloud.RetryAfter](err); ok {
		return min(requested.After, cloud.MaximumRetryAfter)
	}
	return 0
}
