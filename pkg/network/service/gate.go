// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
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
	// Rate is requests a second; 0: no bound. Burst is how many are made at once when none was made for a while, at least 1.
	Rate  float64
	Burst int
	// Parallel is how many calls are under way at a time; 0: no bound.
	Parallel int
}

// Gate limits the calls to one cloud, and predicts whether a call would complete in time. One call after the other waits
// in line for a slot, for the end of a pause that the cloud requested, and for the rate. The pools of the cloud share it.
// It is safe for concurrent use; a nil Gate is unlimited.
type Gate struct {
	name  string
	limit Limit
	clock clock.Clock
	// limiter and slots bound the rate and the concurrent calls; nil: nothing does.
	limiter *rate.Limiter
	slots   *semaphore.Weighted
	// line is held by the call that is next. Only some calls of each kind wait for it at a time, which gives each kind its
	// share: calls for allocations before one release.
	line, binds, unbinds *semaphore.Weighted

	mutex sync.Mutex
	// waitingBinds and waitingUnbinds are how many calls wait, and running how many are under way.
	waitingBinds, waitingUnbinds, running int
	// typical is how long a call takes, as a moving average; 0 while none has been made.
	typical time.Duration
	// closed is the end of the pause that the cloud requested; reopening means that tokens saved during the pause must
	// not be spent at once.
	closed    time.Time
	reopening bool
	// promised is the time at which the last rejected caller is expected again.
	promised time.Time
}

const (
	// turnOfReleases makes every eighth call a release under full load, because releases free resources.
	turnOfReleases = 8
	// maximumBinds bounds how many calls for allocations wait: callers of a cloud that hangs may have left long ago, and hold nothing else that is bounded.
	maximumBinds = 1024
	// weight is the weight of a new call in the moving average, as a divisor.
	weight = 4
)

// NewGate returns the gate of the cloud with a name.
func NewGate(name string, limit Limit, c clock.Clock) *Gate {
	g := &Gate{name: name, limit: limit, clock: c, line: semaphore.NewWeighted(1)}
	g.binds, g.unbinds = semaphore.NewWeighted(turnOfReleases-1), semaphore.NewWeighted(1)
	if limit.Rate > 0 {
		g.limiter = rate.NewLimiter(rate.Limit(limit.Rate), max(1, limit.Burst))
	}
	if limit.Parallel > 0 {
		g.slots = semaphore.NewWeighted(int64(limit.Parallel))
	}
	return g
}

// Limit returns the limit of the gate.
func (g *Gate) Limit() Limit { return g.limit }

// Load describes the current calls at a gate.
type Load struct {
	// Binds and Unbinds are how many wait, and Running how many calls are under way.
	Binds, Unbinds, Running int
	// Typical is how long a call takes.
	Typical time.Duration
	// Closed is for how long the cloud wants to be left alone.
	Closed time.Duration
}

// Load returns the current load.
func (g *Gate) Load() Load {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return Load{g.waitingBinds, g.waitingUnbinds, g.running, g.typical, max(0, g.closed.Sub(g.clock.Now()))}
}

// admit gives places in the queue for n calls, when the last of them would come to its end by the deadline, and not too many wait already. Else it is a
// *network.Busy.
func (g *Gate) admit(n int, deadline time.Time) ([]*pass, error) {
	passes := make([]*pass, n)
	if g == nil {
		return passes, nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := g.clock.Now()
	late := g.expect(now, g.waitingBinds+n-1) - deadline.Sub(now)
	if late > 0 || g.waitingBinds > 0 && g.waitingBinds+n > maximumBinds {
		return nil, &network.Busy{RetryAfter: g.promise(now, max(0, late), n), Of: g.name}
	}
	for i := range passes {
		passes[i] = &pass{gate: g, share: g.binds, waiting: &g.waitingBinds}
	}
	g.waitingBinds += n
	return passes, nil
}

// queue returns a place in the queue without a limit on its length.
func (g *Gate) queue() *pass {
	if g == nil {
		return nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.waitingBinds++
	return &pass{gate: g, share: g.binds, waiting: &g.waitingBinds}
}

// queueRelease returns a place among the releases.
func (g *Gate) queueRelease() *pass {
	if g == nil {
		return nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.waitingUnbinds++
	return &pass{gate: g, share: g.unbinds, waiting: &g.waitingUnbinds}
}

// expect estimates the time until a call completes with this number of calls ahead of it. Without running calls, it
// ignores earlier durations: otherwise those of a slow period would remain.
func (g *Gate) expect(now time.Time, ahead int) time.Duration {
	wait := max(0, g.closed.Sub(now))
	ahead += min(g.waitingUnbinds, ahead/turnOfReleases)
	if g.limiter != nil {
		tokens := g.limiter.TokensAt(now)
		if g.reopening {
			tokens = min(1, tokens)
		}
		if missing := float64(ahead+1) - tokens; missing > 0 {
			wait += time.Duration(missing / g.limit.Rate * float64(time.Second))
		}
	}
	if g.limit.Parallel > 0 {
		wait = max(wait, time.Duration((g.running+ahead)/g.limit.Parallel)*g.typical)
	}
	if g.running > 0 || g.waitingBinds > 0 {
		wait += g.typical
	}
	return wait
}

const (
	// firstReturn and lastReturn bound the Retry-After of refused calls. HTTP sends whole seconds (RFC 9110, 10.2.3).
	firstReturn = time.Second
	lastReturn  = time.Minute
)

// promise returns the time after which a refused call should return: after all other refused calls, at the current
// rate.
func (g *Gate) promise(now time.Time, late time.Duration, n int) time.Duration {
	slot := g.typical / time.Duration(max(1, g.limit.Parallel))
	if g.limiter != nil {
		slot = max(slot, time.Duration(float64(time.Second)/g.limit.Rate))
	}
	if due := now.Add(late); g.promised.Before(due) {
		g.promised = due
	}
	g.promised = g.promised.Add(time.Duration(n) * slot)
	if latest := now.Add(lastReturn); g.promised.After(latest) {
		g.promised = latest
	}
	return max(firstReturn, g.promised.Sub(now)).Round(time.Millisecond)
}

// pause returns the time that the next call must wait. If it is 0, the call is counted.
func (g *Gate) pause() time.Duration {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := g.clock.Now()
	if closed := g.closed.Sub(now); closed > 0 {
		return closed
	}
	if g.limiter == nil {
		return 0
	}
	if g.reopening {
		g.reopening = false
		if saved := int(g.limiter.TokensAt(now)); saved > 1 {
			g.limiter.AllowN(now, saved-1)
		}
	}
	r := g.limiter.ReserveN(now, 1)
	pause := r.DelayFrom(now)
	if pause > 0 {
		r.CancelAt(now)
	}
	return pause
}

// open waits until the cloud may be called.
func (g *Gate) open(ctx context.Context) error {
	for {
		pause := g.pause()
		if pause <= 0 {
			return ctx.Err()
		}
		select {
		case <-g.clock.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pass is a place in the queue of a gate for one call. It is used once, or canceled. A nil pass is that of a gate that
// does not exist.
type pass struct {
	gate  *Gate
	share *semaphore.Weighted
	// waiting counts the place while over is false. The mutex of the gate guards both.
	waiting *int
	over    bool
}

// wait returns when the call may be made.
func (p *pass) wait(ctx context.Context) error {
	g := p.gate
	if err := p.share.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := g.line.Acquire(ctx, 1); err != nil {
		p.share.Release(1)
		return err
	}
	defer g.line.Release(1)
	defer p.share.Release(1) // first, so that the next one of the kind gets in line behind the others
	if g.slots != nil {
		if err := g.slots.Acquire(ctx, 1); err != nil {
			return err
		}
	}
	if err := g.open(ctx); err != nil {
		g.leave()
		return err
	}
	return nil
}

// leave gives the slot of a call back.
func (g *Gate) leave() {
	if g.slots != nil {
		g.slots.Release(1)
	}
}

// do makes the call when its turn comes. If the cloud requests a pause and the context lasts longer, it is made again
// after the pause, before all that wait.
func (p *pass) do(ctx context.Context, call func() error) error {
	if p == nil {
		return call()
	}
	g := p.gate
	err := p.wait(ctx)
	if p.cancel(); err != nil {
		return fmt.Errorf("%w: %s had no time for it: %w", network.ErrUnavailable, g.name, err)
	}
	defer g.leave()
	g.begin(1)
	defer g.begin(-1)
	for {
		began := g.clock.Now()
		err := call()
		after := g.ended(began, err)
		deadline, bounded := ctx.Deadline()
		if after == 0 || p.share == g.unbinds || bounded && deadline.Sub(g.clock.Now()) <= after {
			return err
		}
		if err := g.open(ctx); err != nil {
			return fmt.Errorf("%w: %s had no time for it: %w", network.ErrUnavailable, g.name, err)
		}
	}
}

// begin counts running calls.
func (g *Gate) begin(change int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.running += change
}

// ended records the duration and the result of a call. If the cloud requested a pause, it closes the gate for that time,
// and returns it.
func (g *Gate) ended(began time.Time, err error) time.Duration {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := g.clock.Now()
	took := now.Sub(began)
	if g.typical == 0 {
		g.typical = took
	}
	g.typical += (took - g.typical) / weight
	after := retryAfter(err)
	if after > 0 && now.Add(after).After(g.closed) {
		g.closed, g.reopening = now.Add(after), true
	}
	return after
}

// cancel gives the place back; one that was used or given back stays so.
func (p *pass) cancel() {
	if p == nil {
		return
	}
	p.gate.mutex.Lock()
	defer p.gate.mutex.Unlock()
	if !p.over {
		p.over = true
		*p.waiting--
	}
}

// retryAfter returns the pause that a cloud requested, or 0.
func retryAfter(err error) time.Duration {
	var (
		said *cloud.RetryAfter
		busy *network.Busy
	)
	switch {
	case errors.As(err, &said):
		return min(said.After, cloud.MaximumRetryAfter)
	case errors.As(err, &busy):
		return min(busy.RetryAfter, cloud.MaximumRetryAfter)
	}
	return 0
}
