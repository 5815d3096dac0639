// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// workers counts what is being done, so that the service can end when it is over.
type workers struct {
	mutex   sync.Mutex
	running int
	// ending refuses new allocations, and ended also releases.
	ending, ended bool
	idle          chan struct{}
}

// errEnds is the error of work that does not begin because the service ends.
var errEnds = fmt.Errorf("%w: the server ends", network.ErrUnavailable)

// begin counts work; releases may begin until all other work has ended. The returned function ends it.
func (w *workers) begin(release bool) (done func(), err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended || w.ending && !release {
		return nil, errEnds
	}
	w.running++
	return func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if w.running--; w.running == 0 && w.ending {
			w.ended = true
			close(w.idle)
		}
	}, nil
}

// finish waits until all work has ended, and lets none begin.
func (w *workers) finish() {
	w.mutex.Lock()
	if w.ending {
		w.mutex.Unlock()
		return
	}
	w.ending, w.idle = true, make(chan struct{})
	if w.running == 0 {
		w.ended = true
		close(w.idle)
	}
	w.mutex.Unlock()
	<-w.idle
}

// detach runs work for an owner in its own time, within the budget: the caller waits no longer than its context lasts, and the work goes on
// without it. The request keeps its place in the server until the work is over.
func (s *Service) detach(ctx context.Context, owner network.Owner, work func(context.Context) error) error {
	release, done := serving.Hold(ctx), make(chan error, 1)
	go func() {
		defer release()
		done <- s.within(ctx, owner, s.options.Budget, work)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// within runs work with a time limit of its own. A panic is an error.
func (s *Service) within(ctx context.Context, owner network.Owner, limit time.Duration, work func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer s.survive(owner, &err)
	return work(ctx)
}

// survive turns a panic into an error; it is deferred.
func (s *Service) survive(owner network.Owner, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("%w: a bug: %v", network.ErrUnavailable, panicked)
		s.options.Report(owner, *err)
	}
}
