// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package service is the allocation wing's one way to do things: allocate, release, and bring to an end what a crash has left.
// An allocation is a saga of two: the ledger remembers first, the cloud is asked then, and whatever breaks between is found and
// finished. No caller's departure breaks it off.
//
// It has no clock but the one that it is given, knows no wire, and imports neither a store nor a cloud. Enter at New.
package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Pool is what the service must know of a pool beside what the ledger does.
type Pool struct {
	// Cloud is the one behind the pool; nil: there is none to be asked, and an allocation is one commit.
	Cloud cloud.Cloud
	// Rest is how long what was released is given to nobody.
	Rest time.Duration
}

// Options are those of a service.
type Options struct {
	// Clock is required.
	Clock clock.WithTickerAndDelayedExecution
	// Budget bounds the work for one allocation or release, whether or not its caller still waits. Default 2 minutes.
	Budget time.Duration
	// Releasers are how many releases are worked on at a time. Default 8.
	Releasers int
	// Report is told of what went wrong in the background; nil: nobody is.
	Report func(network.Owner, error)
}

// Service allocates and releases. It is safe for concurrent use.
type Service struct {
	ledger  *ledger.Ledger
	pools   map[string]Pool
	options Options

	// mutex guards flights and ended: what is being done, by owner. One thing at a time is done for an owner.
	mutex   sync.Mutex
	flights map[network.Owner]*flight
	ended   bool
	flying  sync.WaitGroup

	releases *queue
}

// New makes a service; pools are by name, the same as those of the ledger.
func New(l *ledger.Ledger, pools map[string]Pool, o Options) *Service {
	if o.Budget == 0 {
		o.Budget = 2 * time.Minute
	}
	if o.Releasers == 0 {
		o.Releasers = 8
	}
	if o.Report == nil {
		o.Report = func(network.Owner, error) {}
	}
	return &Service{ledger: l, pools: pools, options: o, flights: map[network.Owner]*flight{}, releases: newQueue(o.Clock)}
}

// Request is what an owner wants.
type Request struct {
	Owner network.Owner
	Pool  string
	// Addresses are asked for by name; Families are those that are wanted beside them, nil: all of the pool.
	Addresses []netip.Addr
	Families  []int
	Trunk     network.Trunk
	// Holder is whoever the owner stands for.
	Holder network.Holder
	// TakeOver takes an address that is asked for by name from another owner of the same contract: its caller is the one who
	// decides about addresses, and has given this one away already.
	TakeOver bool
}

// Allocate gives an owner what it wants, and the same again when it asks again. Requests of one owner at the same time are one.
// The errors are those of ledger.Reserve, and network.ErrRefused and ErrUnavailable; that of the context when it ends first, and
// then the work goes on all the same.
func (s *Service) Allocate(ctx context.Context, r Request) (network.Allocation, error) {
	if _, ok := s.pools[r.Pool]; !ok {
		return network.Allocation{}, fmt.Errorf("%w %q", network.ErrUnknownPool, r.Pool)
	}
	return s.fly(ctx, r.Owner, allocating, func(ctx context.Context) (network.Allocation, error) { return s.allocate(ctx, r) })
}

func (s *Service) allocate(ctx context.Context, r Request) (network.Allocation, error) {
	in := ledger.Intent{
		Owner: r.Owner, Pool: r.Pool, Addresses: r.Addresses, Families: r.Families, Trunk: r.Trunk, Holder: r.Holder,
		State: network.Intended, Now: s.options.Clock.Now(),
	}
	if s.pools[r.Pool].Cloud == nil {
		in.State = network.Bound
	}
	a, _, err := s.ledger.Reserve(ctx, in)
	if errors.Is(err, network.ErrTaken) && r.TakeOver {
		if err := s.evict(ctx, r); err != nil {
			return a, err
		}
		a, _, err = s.ledger.Reserve(ctx, in)
	}
	if err != nil {
		return a, err
	}
	switch a.State {
	case network.Bound:
		return a, nil
	case network.Releasing:
		// It has been given back, and is wanted again before that came to its end.
		if err := s.release(ctx, a); err != nil {
			return a, fmt.Errorf("%w: an earlier release is not finished: %w", network.ErrUnavailable, err)
		}
		return s.allocate(ctx, r)
	}
	return s.bind(ctx, a)
}

// bind asks the cloud. What it refuses is undone; what fails otherwise stays as it is, so that the next attempt goes on with it.
func (s *Service) bind(ctx context.Context, a network.Allocation) (network.Allocation, error) {
	behind := s.pools[a.Pool].Cloud
	binding := network.Binding{}
	if behind != nil {
		var err error
		if binding, err = behind.Bind(ctx, a); errors.Is(err, network.ErrRefused) {
			if undone := s.release(ctx, a); undone != nil {
				s.options.Report(a.Owner, undone)
			}
			return network.Allocation{}, err
		} else if err != nil {
			return network.Allocation{}, fmt.Errorf("%w: %w", network.ErrUnavailable, err)
		}
	}
	return s.ledger.Update(ctx, a.Owner, func(a *network.Allocation) error {
		a.State, a.Binding = network.Bound, binding
		return nil
	})
}

// evict releases what stands at the addresses that are asked for by name.
func (s *Service) evict(ctx context.Context, r Request) error {
	for _, address := range r.Addresses {
		held, err := s.ledger.At(ctx, r.Pool, address)
		if errors.Is(err, network.ErrNotHeld) {
			// It rests: whoever decides about addresses may give it away sooner.
			if err := s.ledger.Rouse(ctx, r.Pool, address); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if held.Owner.Contract != r.Owner.Contract {
			return fmt.Errorf("%w: %s is held under another contract", network.ErrTaken, address)
		}
		if held.Owner == r.Owner {
			continue
		}
		_, err = s.oust(ctx, held.Owner, func(ctx context.Context) (network.Allocation, error) {
			return network.Allocation{}, s.giveUp(ctx, held.Owner, 0)
		})
		if err != nil {
			return fmt.Errorf("%w: what %s held before is not released: %w", network.ErrUnavailable, address, err)
		}
	}
	return nil
}

// oust does something for the owner that is to go. It waits for a part of its own time only, as that owner may be waiting for an
// address of the one that came: then both try again.
func (s *Service) oust(ctx context.Context, owner network.Owner, do func(context.Context) (network.Allocation, error)) (network.Allocation, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Budget/8)
	defer cancel()
	return s.fly(ctx, owner, ending, do)
}

// Get is what an owner holds. The error wraps network.ErrNotHeld.
func (s *Service) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	return s.ledger.Get(ctx, owner)
}

// At is the allocation of an address. The error wraps network.ErrNotHeld.
func (s *Service) At(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	return s.ledger.At(ctx, pool, address)
}
