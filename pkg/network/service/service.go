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
	"slices"
	"sync"
	"sync/atomic"
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
	options Options
	// pools are swapped as a whole.
	pools atomic.Pointer[map[string]Pool]

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
	s := &Service{ledger: l, options: o, flights: map[network.Owner]*flight{}, releases: newQueue(o.Clock)}
	s.pools.Store(&pools)
	return s
}

// Configure puts pools in the place of those that there were; see ledger.Ledger.Configure, which comes first. What was begun is finished with
// the pools that are there then.
func (s *Service) Configure(pools map[string]Pool) { s.pools.Store(&pools) }

func (s *Service) pool() map[string]Pool { return *s.pools.Load() }

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
	// Quotas are those that the request counts for.
	Quotas []ledger.Quota
	// TakeOver takes an address that is asked for by name from another owner of the same contract: its caller is the one who
	// decides about addresses, and has given this one away already.
	TakeOver bool
}

// Allocate gives an owner what it wants, and the same again when it asks again. Requests of one owner at the same time are one.
// The errors are those of ledger.Reserve, and network.ErrRefused, ErrBusy and ErrUnavailable; that of the context when it ends first, and
// then the work goes on all the same.
func (s *Service) Allocate(ctx context.Context, r Request) (network.Allocation, error) {
	all, err := s.AllocateAll(ctx, r)
	if err != nil {
		return network.Allocation{}, err
	}
	return all[0], nil
}

// AllocateAll gives several owners, each another one, what they want: all of them, or none. The results are in the order of the requests; see
// Allocate.
func (s *Service) AllocateAll(ctx context.Context, requests ...Request) ([]network.Allocation, error) {
	pools := s.pool()
	owners := make([]network.Owner, len(requests))
	for i, r := range requests {
		if _, ok := pools[r.Pool]; !ok {
			return nil, fmt.Errorf("%w %q", network.ErrUnknownPool, r.Pool)
		}
		owners[i] = r.Owner
	}
	return s.fly(ctx, allocating, func(ctx context.Context) ([]network.Allocation, error) { return s.allocate(ctx, requests) }, owners...)
}

func (s *Service) allocate(ctx context.Context, requests []Request) ([]network.Allocation, error) {
	intents := make([]ledger.Intent, len(requests))
	pools := s.pool()
	for i, r := range requests {
		intents[i] = ledger.Intent{
			Owner: r.Owner, Pool: r.Pool, Addresses: r.Addresses, Families: r.Families, Trunk: r.Trunk, Holder: r.Holder, Quotas: r.Quotas,
			State: network.Intended, Now: s.options.Clock.Now(),
		}
		if pools[r.Pool].Cloud == nil {
			intents[i].State = network.Bound
		}
	}
	all, fresh, err := s.ledger.ReserveAll(ctx, intents)
	if errors.Is(err, network.ErrTaken) && slices.ContainsFunc(requests, func(r Request) bool { return r.TakeOver }) {
		for _, r := range requests {
			if err := s.evict(ctx, r); err != nil {
				return nil, err
			}
		}
		all, fresh, err = s.ledger.ReserveAll(ctx, intents)
	}
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.State != network.Releasing {
			continue
		}
		// It has been given back, and is wanted again before that came to its end.
		if err := s.release(ctx, a); err != nil {
			return nil, fmt.Errorf("%w: an earlier release is not finished: %w", network.ErrUnavailable, err)
		}
		return s.allocate(ctx, requests)
	}
	return s.bindAll(ctx, all, fresh)
}

// bindAll asks the cloud for those that it does not have yet, at the same time. When it refuses one, what is fresh is undone.
func (s *Service) bindAll(ctx context.Context, all []network.Allocation, fresh []bool) ([]network.Allocation, error) {
	problems := make([]error, len(all))
	var group sync.WaitGroup
	for i, a := range all {
		if a.State == network.Intended {
			group.Go(func() { all[i], problems[i] = s.bind(ctx, a) })
		}
	}
	group.Wait()
	err := errors.Join(problems...)
	if !errors.Is(err, network.ErrRefused) && !errors.Is(err, network.ErrTaken) {
		return all, err
	}
	for i, a := range all {
		if !fresh[i] && !errors.Is(problems[i], network.ErrRefused) && !errors.Is(problems[i], network.ErrTaken) {
			continue
		}
		if undone := s.release(ctx, a); undone != nil {
			s.options.Report(a.Owner, undone)
		}
	}
	return nil, err
}

// bind asks the cloud. What fails otherwise than by a refusal stays as it is, so that the next attempt goes on with it. The allocation is
// given in any case.
func (s *Service) bind(ctx context.Context, a network.Allocation) (bound network.Allocation, err error) {
	defer s.survive(a.Owner, &err)
	behind := s.pool()[a.Pool].Cloud
	binding := network.Binding{}
	if behind != nil {
		if binding, err = behind.Bind(ctx, a); errors.Is(err, network.ErrRefused) {
			return a, err
		} else if err != nil {
			return a, fmt.Errorf("%w: %w", network.ErrUnavailable, err)
		}
	}
	if bound, err = s.ledger.Update(ctx, a.Owner, settle(binding)); err != nil {
		return a, err
	}
	return bound, nil
}

// settle notes what the cloud says, and what it has chosen.
func settle(binding network.Binding) func(*network.Allocation) error {
	return func(a *network.Allocation) error {
		a.State, a.Binding = network.Bound, binding
		for _, chosen := range binding.Addresses {
			if !slices.Contains(a.Addresses, chosen.Addr()) {
				a.Addresses = append(a.Addresses, chosen.Addr())
			}
		}
		return nil
	}
}

// evict releases what stands at the addresses that are asked for by name. Those are free then; what went with them, such as a VLAN, rests.
func (s *Service) evict(ctx context.Context, r Request) error {
	if !r.TakeOver {
		return nil
	}
	for _, address := range r.Addresses {
		held, err := s.ledger.At(ctx, r.Pool, address)
		switch {
		case errors.Is(err, network.ErrNotHeld):
		case err != nil:
			return err
		case held.Owner == r.Owner:
			continue
		case held.Owner.Contract != r.Owner.Contract:
			return fmt.Errorf("%w: %s is held under another contract", network.ErrTaken, address)
		default:
			if err := s.oust(ctx, held); err != nil {
				return fmt.Errorf("%w: what %s held before is not released: %w", network.ErrUnavailable, address, err)
			}
		}
		// Whoever decides about addresses may give away sooner what rests.
		if err := s.ledger.Rouse(ctx, r.Pool, address); err != nil {
			return err
		}
	}
	return nil
}

// oust releases what an owner holds that is to go. It waits for a part of its own time only, as that owner may be waiting for an
// address of the one that came: then both try again.
func (s *Service) oust(ctx context.Context, held network.Allocation) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Budget/8)
	defer cancel()
	_, err := s.fly(ctx, ending, func(ctx context.Context) ([]network.Allocation, error) { return nil, s.release(ctx, held) }, held.Owner)
	return err
}

// Get is what an owner holds. The error wraps network.ErrNotHeld.
func (s *Service) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	return s.ledger.Get(ctx, owner)
}

// At is the allocation of an address. The error wraps network.ErrNotHeld.
func (s *Service) At(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	return s.ledger.At(ctx, pool, address)
}
