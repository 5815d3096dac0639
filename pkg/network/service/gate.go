// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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

// Gate limits the calls to one cloud, and predicts whether a call would complete in time. Calls for allocations pass in
// the order of their arrival; releases wait for them, but get one of turnOfReleases slots. The pools of the cloud share
// it. It is safe for concurrent use; a nil Gate is unlimited.
type Gate struct {
	name    string
	limit   Limit
	clock   clock.WithDelayedExecution
	limiter *rate.Limiter

	mutex sync.Mutex
	// binds and unbinds wait, the first first.
	binds, unbinds []*pass
	running        int
	// passed counts the binds since an unbind waits.
	passed int
	// typical is how long a call takes, as a moving average; 0 while none has been made.
	typical time.Duration
	// closed is the end of the pause that the cloud requested; reopening means that tokens saved during the pause must
	// not be spent at once.
	closed    time.Time
	reopening bool
	// alarm is when the timer fires.
	timer clock.Timer
	alarm time.Time
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
func NewGate(name string, limit Limit, c clock.WithDelayedExecution) *Gate {
	g := &Gate{name: name, limit: limit, clock: c}
	if limit.Rate > 0 {
		g.limiter = rate.NewLimiter(rate.Limit(limit.Rate), max(1, limit.Burst))
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
	return Load{len(g.binds), len(g.unbinds), g.running, g.typical, max(0, g.closed.Sub(g.clock.Now()))}
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
	if late := g.expect(now, len(g.binds)+n-1) - deadline.Sub(now); late > 0 || len(g.binds) > 0 && len(g.binds)+n > maximumBinds {
		return nil, &network.Busy{RetryAfter: g.promise(now, max(0, late), n), Of: g.name}
	}
	for i := range passes {
		passes[i] = newPass(g)
	}
	g.binds = append(g.binds, passes...)
	return passes, nil
}

// queue returns a place in the queue without a limit on its length, at the front for a call that the cloud refused for
// now.
func (g *Gate) queue(front bool) *pass {
	if g == nil {
		return nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	p := newPass(g)
	if front {
		g.binds = append([]*pass{p}, g.binds...)
	} else {
		g.binds = append(g.binds, p)
	}
	return p
}

// queueRelease returns a place among the releases.
func (g *Gate) queueRelease() *pass {
	if g == nil {
		return nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	p := newPass(g)
	p.ready = true
	g.unbinds = append(g.unbinds, p)
	g.pump()
	return p
}

// expect estimates the time until a call completes with this number of calls ahead of it. Without running calls, it
// ignores earlier durations: otherwise those of a slow period would remain.
func (g *Gate) expect(now time.Time, ahead int) time.Duration {
	wait := max(0, g.closed.Sub(now))
	ahead += min(len(g.unbinds), ahead/turnOfReleases)
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
	if g.running > 0 || len(g.binds) > 0 {
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

// pump starts all calls that may run. The caller holds the mutex.
func (g *Gate) pump() {
	for {
		line, at := g.next()
		if line == nil || g.limit.Parallel > 0 && g.running >= g.limit.Parallel {
			return
		}
		now := g.clock.Now()
		if pause := g.pause(now); pause > 0 {
			g.wake(now, pause)
			return
		}
		if line == &g.unbinds || len(g.unbinds) == 0 {
			g.passed = 0
		} else {
			g.passed++
		}
		p := (*line)[at]
		*line = append((*line)[:at:at], (*line)[at+1:]...)
		g.running++
		p.grant(now)
	}
}

// next returns the queue and the index of the next call, or nil.
func (g *Gate) next() (*[]*pass, int) {
	if len(g.unbinds) > 0 && g.passed >= turnOfReleases-1 {
		return &g.unbinds, 0
	}
	for i, p := range g.binds {
		if p.ready {
			return &g.binds, i
		}
	}
	if len(g.unbinds) > 0 {
		return &g.unbinds, 0
	}
	return nil, 0
}

// pause returns the time that the next call must wait. If it is 0, the call is counted.
func (g *Gate) pause(now time.Time) time.Duration {
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

// wake pumps again after a pause.
func (g *Gate) wake(now time.Time, pause time.Duration) {
	due := now.Add(pause)
	if g.timer != nil {
		if !due.Before(g.alarm) {
			return // it is found then how long is still to wait
		}
		g.timer.Stop()
	}
	g.alarm = due
	// In a goroutine, because the caller may hold the clock's lock.
	g.timer = g.clock.AfterFunc(pause, func() { go g.ring(due) })
}

func (g *Gate) ring(due time.Time) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.alarm.Equal(due) {
		g.timer = nil
	}
	g.pump()
}

// pass is a place in the queue of a gate, and then the leave to make one call. It is used once, and must be ended or canceled. A nil pass is
// that of a gate that does not exist.
type pass struct {
	gate    *Gate
	granted chan struct{}

	// The mutex of the gate guards the following fields. A pass that is not ready is skipped.
	ready, running, over bool
	since                time.Time
}

func newPass(g *Gate) *pass { return &pass{gate: g, granted: make(chan struct{})} }

// grant gives the leave. The mutex is held.
func (p *pass) grant(now time.Time) {
	p.running, p.since = true, now
	close(p.granted)
}

// wait returns when the call may be made.
func (p *pass) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.gate.mutex.Lock()
	if p.ready = true; !p.running {
		p.gate.pump()
	}
	p.gate.mutex.Unlock()
	select {
	case <-p.granted:
		return nil
	case <-ctx.Done():
		p.cancel()
		return fmt.Errorf("%w: %s had no time for it: %w", network.ErrUnavailable, p.gate.name, ctx.Err())
	}
}

// do waits, and makes the call.
func (p *pass) do(ctx context.Context, call func() error) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	err := errors.New("the call has panicked")
	defer func() { p.end(err) }()
	err = call()
	return err
}

// end records the result of the call. If the cloud requested a pause, it closes the gate for that time.
func (p *pass) end(err error) {
	if p == nil {
		return
	}
	g := p.gate
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if !p.running || p.over {
		return
	}
	p.over = true
	g.running--
	now := g.clock.Now()
	took := now.Sub(p.since)
	if g.typical == 0 {
		g.typical = took
	}
	g.typical += (took - g.typical) / weight
	if after := retryAfter(err); after > 0 && now.Add(after).After(g.closed) {
		g.closed, g.reopening = now.Add(after), true
	}
	g.pump()
}

// cancel gives the place, or the leave, back; a pass that has ended stays so.
func (p *pass) cancel() {
	if p == nil {
		return
	}
	g := p.gate
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if p.over {
		return
	}
	p.over = true
	if p.running {
		g.running--
	} else if i := slices.Index(g.binds, p); i >= 0 {
		g.binds = slices.Delete(g.binds, i, i+1)
	} else if i := slices.Index(g.unbinds, p); i >= 0 {
		g.unbinds = slices.Delete(g.unbinds, i, i+1)
	}
	g.pump()
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
