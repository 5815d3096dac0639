// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// purpose is what is being done for an owner.
type purpose int

const (
	allocating purpose = iota
	releasing
)

// flight is something that is being done for an owner.
type flight struct {
	purpose purpose
	done    chan struct{}
	result  network.Allocation
	err     error
}

// fly does something for an owner, in its own time: the caller waits for it no longer than its context lasts, and it goes on
// without the caller. Who asks for the same of the owner meanwhile gets the same result; who asks for something else waits.
func (s *Service) fly(ctx context.Context, owner network.Owner, p purpose, do func(context.Context) (network.Allocation, error)) (network.Allocation, error) {
	for {
		f, joined := s.board(owner, p)
		if !joined {
			s.work.Go(func() { s.land(ctx, owner, f, do) })
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return network.Allocation{}, ctx.Err()
		}
		if f.purpose == p {
			return f.result, f.err
		}
	}
}

// board finds the flight of an owner, whatever its purpose, or begins one.
func (s *Service) board(owner network.Owner, p purpose) (f *flight, joined bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if flying := s.flights[owner]; flying != nil {
		return flying, true
	}
	f = &flight{purpose: p, done: make(chan struct{})}
	s.flights[owner] = f
	return f, false
}

func (s *Service) land(ctx context.Context, owner network.Owner, f *flight, do func(context.Context) (network.Allocation, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Budget)
	defer cancel()
	defer func() {
		if panicked := recover(); panicked != nil {
			f.err = fmt.Errorf("%w: a bug: %v", network.ErrUnavailable, panicked)
			s.options.Report(owner, f.err)
		}
		s.mutex.Lock()
		delete(s.flights, owner)
		s.mutex.Unlock()
		close(f.done)
	}()
	f.result, f.err = do(ctx)
}
