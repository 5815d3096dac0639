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
	// releasing ends when the release is remembered, and ending when the cloud has done it.
	releasing
	ending
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
		f, joined, err := s.board(owner, p)
		if err != nil {
			return network.Allocation{}, err
		}
		if !joined {
			go s.land(ctx, owner, f, do)
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

// board finds the flight of an owner, whatever its purpose, or begins one. None begins any more when the service ends.
func (s *Service) board(owner network.Owner, p purpose) (f *flight, joined bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if flying := s.flights[owner]; flying != nil {
		return flying, true, nil
	}
	if s.ended {
		return nil, false, fmt.Errorf("%w: the server ends", network.ErrUnavailable)
	}
	s.flying.Add(1)
	f = &flight{purpose: p, done: make(chan struct{})}
	s.flights[owner] = f
	return f, false, nil
}

// last waits for the flights that have begun, and lets no other begin.
func (s *Service) last() {
	s.mutex.Lock()
	s.ended = true
	s.mutex.Unlock()
	s.flying.Wait()
}

func (s *Service) land(ctx context.Context, owner network.Owner, f *flight, do func(context.Context) (network.Allocation, error)) {
	defer s.flying.Done()
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
