// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// Life orders the end of a server. When the context ends, the program is draining: /readyz fails and requests are still answered for Delay,
// so that callers that balance among replicas meet no closed port. Then the server finishes what is in flight within Timeout, and the
// background work ends within another Timeout.
type Life struct {
	Log            logr.Logger
	Delay, Timeout time.Duration
	// OnDrain is called when the program begins to drain; nil: nothing is.
	OnDrain func()
	// Unfinished is logged if background work does not end in time.
	Unfinished string

	draining atomic.Bool
}

// Draining reports whether the program is about to end.
func (l *Life) Draining() bool { return l.draining.Load() }

// Serve calls serve with a context that ends as described, and the timeout. Work returns functions that run beside it; their context ends
// when serve has returned, and end makes the program end at once with an error.
func (l *Life) Serve(ctx context.Context, serve func(context.Context, time.Duration) error,
	work func(working context.Context, end func(error)) []func(),
) error {
	serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var all sync.WaitGroup
	for _, run := range work(working, end) {
		all.Go(run)
	}
	go func() {
		<-ctx.Done()
		l.draining.Store(true)
		if l.OnDrain != nil {
			l.OnDrain()
		}
		l.Log.Info("Shutting down", "delay", l.Delay)
		time.Sleep(l.Delay)
		end(nil)
	}()
	err := serve(serving, l.Timeout)
	rest()
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(l.Timeout):
		l.Log.Info(l.Unfinished)
	}
	l.Log.Info("Stopped")
	return err
}
