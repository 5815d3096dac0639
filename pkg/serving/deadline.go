// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"sync"
	"time"
)

// Deadline is a context with a deadline. Unlike context.WithDeadline, it starts a timer only on the first call of Done.
// Most requests never call it, because they check Err before each expensive step.
type Deadline struct {
	context.Context

	at   time.Time
	lock sync.Mutex
	// waited is the context with a timer, after the first call of Done.
	waited context.Context
	cancel context.CancelFunc
	// ended is the error after End, if Done was not called before.
	ended error
}

// EndAt returns a Deadline. The caller must call End.
func EndAt(parent context.Context, at time.Time) *Deadline {
	return &Deadline{Context: parent, at: at}
}

// End cancels the context, unless it has ended, and releases its timer.
func (d *Deadline) End() {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.cancel != nil {
		d.cancel()
		return
	}
	if d.ended = d.err(); d.ended == nil {
		d.ended = context.Canceled
	}
}

// Deadline implements context.Context.
func (d *Deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *Deadline) Done() <-chan struct{} {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.waited == nil {
		d.waited, d.cancel = context.WithDeadline(d.Context, d.at)
	}
	if d.ended != nil {
		d.cancel()
	}
	return d.waited.Done()
}

// Err implements context.Context.
func (d *Deadline) Err() error {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.err()
}

func (d *Deadline) err() error {
	switch {
	case d.ended != nil:
		return d.ended
	case d.waited != nil:
		return d.waited.Err()
	case !time.Now().Before(d.at):
		return context.DeadlineExceeded
	default:
		return d.Context.Err()
	}
}
