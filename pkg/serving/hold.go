// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"sync/atomic"
)

type holdKey struct{}

// hold counts the users of a request's resources. It is the context that carries itself.
type hold struct {
	context.Context

	workers atomic.Int32
	leave   func()
}

// Value implements context.Context.
func (h *hold) Value(key any) any {
	if key == (holdKey{}) {
		return h
	}
	return h.Context.Value(key)
}

func (h *hold) release() {
	if h.workers.Add(-1) == 0 {
		h.leave()
	}
}

// WithHold returns a context for a request's work. leave is called once, after release and the release function
// of each Hold were called.
func WithHold(ctx context.Context, leave func()) (held context.Context, release func()) {
	h := &hold{Context: ctx, leave: leave}
	h.workers.Store(1)
	return h, h.release
}

// Hold keeps the resources of a request for work that continues after its handler returned, until release is
// called. The caller must call release exactly once.
func Hold(ctx context.Context) (release func()) {
	h, is := ctx.Value(holdKey{}).(*hold)
	if !is {
		return func() {}
	}
	for workers := h.workers.Load(); workers > 0; workers = h.workers.Load() {
		if h.workers.CompareAndSwap(workers, workers+1) {
			return h.release
		}
	}
	return func() {} // all work has ended, so that nothing is held
}
