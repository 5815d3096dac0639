// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Timeout returns the timeout that kube-apiserver and Karmada send in the query of webhook calls, or 0 if there
// is none or it is invalid.
func Timeout(r *http.Request) time.Duration {
	text, only := strings.CutPrefix(r.URL.RawQuery, "timeout=") // fast path for a query with the timeout only
	if !only || strings.ContainsAny(text, "&;%+") {
		text = r.URL.Query().Get("timeout")
	}
	said, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return max(0, said)
}

// WithDeadline works like context.WithDeadline, but starts a timer only when Done is called. Most requests wait for
// nothing, and each timer may wake an idle thread.
func WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	if earlier, ok := parent.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	c := &deadlineContext{Context: parent, deadline: deadline}
	return c, c.cancel
}

// deadlineContext is the result of WithDeadline. Its embedded context is the parent.
type deadlineContext struct {
	context.Context

	deadline time.Time

	// mutex guards the fields below. err is the error of an ended context; it must not change any more.
	mutex sync.Mutex
	err   error
	// timed has a timer. It is nil until Done is called.
	timed context.Context
	end   context.CancelFunc
}

// Deadline implements context.Context.
func (c *deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context.
func (c *deadlineContext) Done() <-chan struct{} {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.timed == nil {
		c.timed, c.end = context.WithDeadline(c.Context, c.deadline)
		if c.err != nil {
			c.end()
		}
	}
	return c.timed.Done()
}

// Err implements context.Context.
func (c *deadlineContext) Err() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ended()
}

// ended returns the error of an ended context. The caller holds the mutex.
func (c *deadlineContext) ended() error {
	switch {
	case c.err != nil:
	case c.timed != nil:
		c.err = c.timed.Err()
	case !time.Now().Before(c.deadline):
		c.err = context.DeadlineExceeded
	default:
		c.err = c.Context.Err()
	}
	return c.err
}

// Value implements context.Context. Children of the context find the one with the timer, so that they need no goroutine.
func (c *deadlineContext) Value(key any) any {
	c.mutex.Lock()
	parent := c.Context
	if c.timed != nil {
		parent = c.timed
	}
	c.mutex.Unlock()
	return parent.Value(key)
}

func (c *deadlineContext) cancel() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended() == nil {
		c.err = context.Canceled
	}
	if c.timed != nil {
		c.end()
	}
}
