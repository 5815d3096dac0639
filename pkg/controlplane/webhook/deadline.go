// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends with its parent or at a time. Unlike that of context.WithDeadline it has no timer until somebody waits for
// its end, which most admissions never do: they ask Err before each step that can take long.
type deadline struct {
	context.Context

	at   time.Time
	lock sync.Mutex
	// waited is the context with a timer, once somebody waits.
	waited context.Context
	cancel context.CancelFunc
}

// endAt makes the context; end must be called.
func endAt(parent context.Context, at time.Time) *deadline {
	return &deadline{Context: parent, at: at}
}

// end gives up the timer, if there is one.
func (d *deadline) end() {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.waited == nil {
		d.waited, d.cancel = context.WithDeadline(d.Context, d.at)
	}
	return d.waited.Done()
}

// Err implements context.Context.
func (d *deadline) Err() error {
	d.lock.Lock()
	defer d.lock.Unlock()
	switch {
	case d.waited != nil:
		return d.waited.Err()
	case !time.Now().Before(d.at):
		return context.DeadlineExceeded
	default:
		return d.Context.Err()
	}
}
