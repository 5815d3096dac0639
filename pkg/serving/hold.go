// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"sync/atomic"
)

type holdKey struct{}

// hold is what a request takes of the server, until nobody works for it any more. It is the context in which it is found.
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

// WithHold is a context for the work of a request: leave is called once, when release has been, and that of each Hold.
func WithHold(ctx context.Context, leave func()) (held context.Context, release func()) {
	h := &hold{Context: ctx, leave: leave}
	h.workers.Store(1)
	return h, h.release
}

// Hold is for who goes on working after the request's handler has returned: what the request takes of the server is held until release is called, which
// must be once.
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
	return func() {} // nobody works for it any more, so that nothing is held
}
