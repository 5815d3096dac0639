// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"sync"
	"time"
)

// Deadline is a context that ends with its parent or at a time. Unlike that of context.WithDeadline it has no timer until somebody waits for its end, which
// the work for most requests never does: it asks Err before each step that can take long.
type Deadline struct {
	context.Context

	at   time.Time
	lock sync.Mutex
	// waited is the context with a timer, once somebody waits.
	waited context.Context
	cancel context.CancelFunc
	// ended is the error from End on, if nobody waited before.
	ended error
}

// EndAt makes the context; End must be called.
func EndAt(parent context.Context, at time.Time) *Deadline {
	return &Deadline{Context: parent, at: at}
}

// End ends the context, unless it has ended, and gives up the timer, if there is one.
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
