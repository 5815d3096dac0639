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

// Life orders the shutdown of a server. When the context ends, the program drains: /readyz fails, but requests
// are answered for Delay, so that load balancers can remove the endpoint. Then requests in flight finish within
// Timeout, and background work ends within another Timeout.
type Life struct {
	Log            logr.Logger
	Delay, Timeout time.Duration
	// OnDrain is called when draining begins. It may be nil.
	OnDrain func()
	// Unfinished is the log line for background work that does not end in time.
	Unfinished string

	draining atomic.Bool
}

// Draining reports whether the program is about to end.
func (l *Life) Draining() bool { return l.draining.Load() }

// Serve calls serve with a context that ends as described, and with the timeout. work returns functions to run
// in the background; their context ends after serve returned, and calling end stops the program at once with an
// error.
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
