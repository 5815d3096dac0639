// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// purpose is what is being done for an owner.
type purpose int

const (
	allocating purpose = iota
	// releasing ends when the release is remembered, and ending when the cloud has done it.
	releasing
	ending
	// reclaiming is releasing, if it is still what it was.
	reclaiming
	// quitting is releasing, if it is being given back already.
	quitting
	// recovering finds out what has become of an intent that nobody works on.
	recovering
)

// flight is something that is being done for owners.
type flight struct {
	purpose purpose
	owners  []network.Owner
	done    chan struct{}
	results []network.Allocation
	err     error
}

// work is what a flight does.
type work func(context.Context) ([]network.Allocation, error)

// fly does something for owners, in its own time: the caller waits for it no longer than its context lasts, and it goes on
// without the caller. Who asks for the same of the same owners meanwhile gets the same result; who asks for something else, or of some of
// them, waits; a release does so also when its caller has left. A result that says that it would take too long for another caller is nobody
// else's.
func (s *Service) fly(ctx context.Context, p purpose, do work, owners ...network.Owner) ([]network.Allocation, error) {
	for {
		f, joined, err := s.board(p, owners)
		if err != nil {
			return nil, err
		}
		if !joined {
			release := serving.Hold(ctx)
			go func() {
				defer release()
				s.land(ctx, f, do)
			}()
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			if joined && (p == releasing || p == reclaiming || p == quitting) {
				release, leave := serving.Hold(ctx), s.stay()
				go func() {
					defer release()
					defer leave()
					s.flyOn(ctx, p, do, owners...)
				}()
			}
			return nil, ctx.Err()
		}
		if joined && (errors.Is(f.err, network.ErrBusy) || p == reclaiming) { // what the other one reclaimed may be something else
			continue
		}
		if f.purpose == p && slices.Equal(f.owners, owners) {
			return slices.Clone(f.results), f.err
		}
	}
}

// stay keeps the service from ending until a release has begun for which nobody waits, unless it has ended; leave is called when that is over.
func (s *Service) stay() (leave func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended && len(s.flights) == 0 && s.staying == 0 {
		return func() {}
	}
	s.staying++
	s.flying.Add(1)
	return func() {
		s.mutex.Lock()
		s.staying--
		s.mutex.Unlock()
		s.flying.Done()
	}
}

// flyHere is fly for what takes no longer than a commit to a store of our own: then the caller does it himself.
func (s *Service) flyHere(ctx context.Context, p purpose, do work, owners ...network.Owner) ([]network.Allocation, error) {
	if s.ledger.Shared() {
		return s.fly(ctx, p, do, owners...)
	}
	f, joined, err := s.board(p, owners)
	if err != nil {
		return nil, err
	}
	if joined {
		return s.fly(ctx, p, do, owners...)
	}
	s.carry(context.WithoutCancel(ctx), f, do)
	return slices.Clone(f.results), f.err
}

// flyOn is fly for a caller who has left.
func (s *Service) flyOn(ctx context.Context, p purpose, do work, owners ...network.Owner) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.options.Budget)
	defer cancel()
	if _, err := s.fly(ctx, p, do, owners...); err != nil {
		s.options.Report(owners[0], err)
	}
}

// flyAlone is fly, but does nothing when something is being done for the owner already: then it gives what is closed when that is over.
func (s *Service) flyAlone(p purpose, do work, owner network.Owner) (over <-chan struct{}, err error) {
	f, joined, err := s.board(p, []network.Owner{owner})
	if err != nil {
		return nil, err
	}
	if joined {
		return f.done, nil
	}
	s.land(context.Background(), f, do)
	return nil, f.err
}

// errEnds says that nothing is begun any more.
var errEnds = fmt.Errorf("%w: the server ends", network.ErrUnavailable)

// board finds a flight of one of the owners, whatever its purpose, or begins one for all of them. None begins any more when the service ends, but releases
// for which it stays.
func (s *Service) board(p purpose, owners []network.Owner) (f *flight, joined bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, owner := range owners {
		if flying := s.flights[owner]; flying != nil {
			return flying, true, nil
		}
	}
	if s.ended && (s.staying == 0 || p != releasing && p != reclaiming && p != quitting) {
		return nil, false, errEnds
	}
	s.flying.Add(1)
	f = &flight{purpose: p, owners: owners, done: make(chan struct{})}
	for _, owner := range owners {
		s.flights[owner] = f
	}
	return f, false, nil
}

// underway is closed when what is being done for an owner is over; nil where nothing is, or it is being done for another one as well.
func (s *Service) underway(owner, other network.Owner) <-chan struct{} {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if f := s.flights[owner]; f != nil && f != s.flights[other] {
		return f.done
	}
	return nil
}

// last waits for the flights that have begun, and lets no other begin.
func (s *Service) last() {
	s.mutex.Lock()
	s.ended = true
	s.mutex.Unlock()
	s.flying.Wait()
}

// land brings a flight to its end, within the budget.
func (s *Service) land(ctx context.Context, f *flight, do work) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Budget)
	defer cancel()
	s.carry(ctx, f, do)
}

// carry does what a flight is for, and tells those who wait.
func (s *Service) carry(ctx context.Context, f *flight, do work) {
	defer s.flying.Done()
	defer func() {
		s.mutex.Lock()
		for _, owner := range f.owners {
			delete(s.flights, owner)
		}
		s.mutex.Unlock()
		close(f.done)
	}()
	defer s.survive(f.owners[0], &f.err)
	f.results, f.err = do(ctx)
}

// survive makes an error of a panic; it is deferred.
func (s *Service) survive(owner network.Owner, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("%w: a bug: %v", network.ErrUnavailable, panicked)
		s.options.Report(owner, *err)
	}
}
