// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

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
