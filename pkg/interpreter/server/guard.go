// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// guard stands before the codec: it bounds how much is worked on, also for callers who have left, and how long anything takes.
type guard struct {
	next    codec
	limits  Limits
	metrics *Metrics
	log     logr.Logger
	// places are for requests, and room is for their bodies, in bytes.
	places, room *semaphore.Weighted
	// here are all requests that are worked on, or wait.
	here atomic.Int64
}

// codec answers in a context that is given beside the request, as http.Request.WithContext would copy all of that.
type codec interface {
	ServeIn(ctx context.Context, w http.ResponseWriter, r *http.Request)
}

// small is a body that needs no room: as many as there are places fit into memory. In bytes.
const small = 64 << 10

func newGuard(next codec, o Options) *guard {
	return &guard{
		next: next, limits: o.Limits, metrics: o.Metrics, log: o.Log,
		places: semaphore.NewWeighted(int64(o.Limits.Requests)), room: semaphore.NewWeighted(o.Limits.BodiesBytes),
	}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.metrics.began()
	defer g.metrics.ended()
	a := &answer{ResponseWriter: w}
	defer g.survive(a)
	defer g.here.Add(-1)
	if g.here.Add(1) > int64(g.limits.Requests+g.limits.Waiting) {
		g.refuse(a)
		return
	}
	began, patience := time.Now(), g.patience(r)
	by := began.Add(patience + g.limits.BodyTimeout)
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(by.Add(writeTimeout))
	ctx, size := r.Context(), g.size(r.ContentLength)
	if !g.enter(size) {
		_ = control.SetReadDeadline(by) // while it waits, its body does too
		limited := serving.EndAt(ctx, began.Add(patience))
		defer limited.End()
		if !g.wait(limited, size) {
			g.refuse(a)
			return
		}
		began, ctx = time.Now(), limited // else the codec bounds the time itself
	}
	ctx, release := serving.WithHold(ctx, func() { g.leave(size) })
	defer release()
	serving.Hurry(w, r, began.Add(g.limits.BodyTimeout))
	g.next.ServeIn(ctx, a, r)
}

// patience is how long is worked for a request at most, with its waiting: no longer than its caller waits.
func (g *guard) patience(r *http.Request) time.Duration {
	if said := serving.Timeout(r); said > 0 {
		return min(g.limits.Patience, said)
	}
	return g.limits.Patience
}

// size is the room that a body takes that says how long it is; -1: it does not, and may be as long as any. Small ones take none.
func (g *guard) size(length int64) int64 {
	size := min(length, g.limits.BodyBytes+1)
	if length < 0 {
		size = g.limits.BodyBytes + 1
	}
	if size <= small {
		return 0
	}
	return size
}

// enter takes a place, and room for a body, where both are free.
func (g *guard) enter(size int64) bool {
	if !g.places.TryAcquire(1) {
		return false
	}
	if size > 0 && !g.room.TryAcquire(size) {
		g.places.Release(1)
		return false
	}
	g.entered(size)
	return true
}

// wait is enter for who can wait.
func (g *guard) wait(ctx context.Context, size int64) bool {
	if g.places.Acquire(ctx, 1) != nil {
		return false
	}
	if size > 0 && g.room.Acquire(ctx, size) != nil {
		g.places.Release(1)
		return false
	}
	g.entered(size)
	return true
}

func (g *guard) entered(size int64) {
	if size > 0 {
		g.metrics.bodies.Add(float64(size))
	}
}

// leave gives back what was taken.
func (g *guard) leave(size int64) {
	if size > 0 {
		g.metrics.bodies.Sub(float64(size))
		g.room.Release(size)
	}
	g.places.Release(1)
}

// refuse answers what has waited in vain, or found too many waiting. Clients of Kubernetes ask again then, as long as they have time.
func (g *guard) refuse(a *answer) {
	g.metrics.refused.Inc()
	a.Header().Set("Retry-After", "1")
	a.Header().Set("Connection", "close")
	http.Error(a, "the server works on as many questions as it can; ask again", http.StatusServiceUnavailable)
}

// survive makes an answer of a panic that the codec has not caught; it is deferred.
func (g *guard) survive(a *answer) {
	panicked := recover()
	if panicked == nil {
		return
	}
	if serving.Aborted(panicked) {
		panic(panicked)
	}
	g.metrics.panics.Inc()
	g.log.Error(serving.Panicked(panicked), "A request panicked: this is a bug", "stack", string(debug.Stack()))
	if a.begun {
		panic(http.ErrAbortHandler) // an answer must not look whole
	}
	http.Error(a, "the server failed; its log says why", http.StatusInternalServerError)
}

// answer remembers whether it has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
