// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Allocate gives an owner what it wants, and the same again when it asks again. Requests of one owner at the same time are one.
// The errors are those of ledger.Reserve, and network.ErrRefused, ErrBusy and ErrUnavailable; that of the context when it ends first, and
// then the work goes on all the same. A *network.Busy comes at once, and for an owner that holds nothing, when the cloud could not be asked
// before the context's deadline: nothing was begun then.
func (s *Service) Allocate(ctx context.Context, r Request) (network.Allocation, error) {
	all, err := s.AllocateAll(ctx, r)
	if err != nil {
		return network.Allocation{}, err
	}
	return all[0], nil
}

// margin is the part of the budget, as a divisor, that is left for when calls take longer than they did.
const margin = 8

// AllocateAll gives several owners, each another one, what they want: all of them, or none. The results are in the order of the requests; see
// Allocate. After an error that is final (refused, not sent, taken, exhausted) nothing is left of what was begun, except what an owner had been given
// before. After one that may pass (unavailable, or the context's end) what was begun is kept for when the owners ask again, and given to nobody
// before all of it is there.
func (s *Service) AllocateAll(ctx context.Context, requests ...Request) ([]network.Allocation, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	fly := s.flyHere
	for i, r := range requests {
		pool, err := s.pool(r.Pool)
		if err != nil || pool.retired {
			return nil, fmt.Errorf("%w %q", network.ErrUnknownPool, r.Pool)
		}
		if pool.Cloud != nil || r.TakeOver || !s.asksNobody() { // what an owner has may be another cloud's than the pool's
			fly = s.fly
		}
		if slices.ContainsFunc(requests[:i], func(other Request) bool { return other.Owner == r.Owner }) {
			return nil, fmt.Errorf("the owner %s wants two allocations at once", r.Owner)
		}
	}
	deadline := s.options.Clock.Now().Add(s.options.Budget - s.options.Budget/margin)
	if last, ok := ctx.Deadline(); ok && last.Before(deadline) {
		deadline = last
	}
	return fly(ctx, allocating, func(ctx context.Context) ([]network.Allocation, error) {
		return s.allocate(ctx, deadline, requests)
	}, ownersOf(requests)...)
}

func ownersOf(requests []Request) []network.Owner {
	owners := make([]network.Owner, len(requests))
	for i, r := range requests {
		owners[i] = r.Owner
	}
	return owners
}

func (s *Service) allocate(ctx context.Context, deadline time.Time, requests []Request) ([]network.Allocation, error) {
	if err := s.open(ctx, requests); err != nil {
		return nil, err
	}
	passes, err := s.admit(ctx, deadline, requests)
	if err != nil {
		return nil, err
	}
	defer cancelAll(passes)
	all, fresh, err := s.reserve(ctx, requests)
	if err != nil {
		return nil, err
	}
	rests := slices.ContainsFunc(requests, func(r Request) bool { return r.TakeOver })
	return s.bindAll(ctx, all, fresh, passes, rests)
}

// open says why a pool gives nothing to one of the owners. What an owner holds already it keeps, and may ask for again.
func (s *Service) open(ctx context.Context, requests []Request) error {
	if s.options.Barred == nil {
		return nil
	}
	for _, r := range requests {
		barred := s.options.Barred(ctx, r.Pool)
		if barred == nil {
			continue
		}
		held, err := s.ledger.Get(ctx, r.Owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && held.State == network.Releasing {
			return barred
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// admit gives owners that hold nothing their places in the queues of the clouds, or says that it would take too long. Others have been
// admitted before, whatever became of it. The passes are in the order of the requests, and nil where none is needed.
func (s *Service) admit(ctx context.Context, deadline time.Time, requests []Request) ([]*pass, error) {
	passes := make([]*pass, len(requests))
	fresh := map[*Gate][]int{}
	for i, r := range requests {
		pool, err := s.pool(r.Pool)
		if err != nil {
			return nil, err
		}
		if pool.Gate == nil || pool.Cloud == nil {
			continue
		}
		held, err := s.ledger.Get(ctx, r.Owner)
		switch {
		case errors.Is(err, network.ErrNotHeld), err == nil && held.State == network.Releasing:
			fresh[pool.Gate] = append(fresh[pool.Gate], i)
		case err != nil:
			return nil, err
		}
	}
	for gate, of := range fresh {
		given, err := gate.admit(len(of), deadline)
		if err != nil {
			cancelAll(passes)
			return nil, err
		}
		for i, p := range given {
			passes[of[i]] = p
		}
	}
	return passes, nil
}

func cancelAll(passes []*pass) {
	for _, p := range passes {
		p.cancel()
	}
}

// maximumReturns bounds how often owners are found to be giving back what they want.
const maximumReturns = 4

// reserve chooses for the owners that hold nothing.
func (s *Service) reserve(ctx context.Context, requests []Request) (all []network.Allocation, fresh []bool, err error) {
	intents := s.intents(requests)
	for range maximumReturns {
		all, fresh, err = s.ledger.ReserveAll(ctx, intents)
		if errors.Is(err, network.ErrTaken) && slices.ContainsFunc(requests, func(r Request) bool { return r.TakeOver }) {
			all, fresh, err = s.takeOver(ctx, requests, intents)
		}
		if err != nil {
			return nil, nil, s.exhausted.note(err)
		}
		returning := slices.IndexFunc(all, func(a network.Allocation) bool { return a.State == network.Releasing })
		if returning < 0 {
			return all, fresh, nil
		}
		// It has been given back, and is wanted again before that came to its end. Nothing was chosen for the others.
		for _, a := range all[returning:] {
			if a.State != network.Releasing {
				continue
			}
			if err := s.end(ctx, a, nil); err != nil {
				return nil, nil, fmt.Errorf("%w: an earlier release is not finished: %w", network.ErrUnavailable, err)
			}
		}
	}
	return nil, nil, fmt.Errorf("%w: it is given back again and again", network.ErrUnavailable)
}

func (s *Service) intents(requests []Request) []ledger.Intent {
	intents, state, now := make([]ledger.Intent, len(requests)), network.Bound, s.options.Clock.Now()
	for i, r := range requests {
		intents[i] = ledger.Intent{
			Owner: r.Owner, Pool: r.Pool, Addresses: r.Addresses, Families: r.Families, Kin: r.Kin, Trunk: r.Trunk, Holder: r.Holder, Quotas: r.Quotas,
			Now: now,
		}
		pool, err := s.pool(r.Pool)
		if err != nil || pool.Cloud != nil {
			state = network.Intended
		}
		intents[i].Cloud = pool.CloudName
	}
	for i := range intents {
		if intents[i].State = state; state == network.Intended && len(requests) > 1 {
			intents[i].Together = requests[0].Owner
		}
	}
	return intents
}

// bindAll asks the clouds for those that they do not have yet, at the same time. None is bound before all are; when one is refused, all are
// undone but those that were bound before. What was not even sent rests when rests says that it may have been taken from somebody.
func (s *Service) bindAll(ctx context.Context, all []network.Allocation, fresh []bool, passes []*pass, rests bool) ([]network.Allocation, error) {
	if !slices.ContainsFunc(all, func(a network.Allocation) bool { return a.State == network.Intended }) {
		return all, nil
	}
	problems := make([]error, len(all))
	state := network.Bound
	if len(all) > 1 {
		state = network.Intended
	}
	var group sync.WaitGroup
	for i, a := range all {
		if a.State == network.Intended {
			group.Go(func() { all[i], problems[i] = s.bind(ctx, a, state, passes[i]) })
		}
	}
	group.Wait()
	err := errors.Join(problems...)
	if err == nil && len(all) > 1 {
		all, err = s.bound(ctx, all)
	}
	switch {
	case err == nil:
		return all, nil
	case errors.Is(err, network.ErrRefused), errors.Is(err, network.ErrTaken), errors.Is(err, network.ErrNotSent):
		s.undoAll(ctx, all, fresh, problems, rests)
	}
	return nil, err
}

// bound notes that the clouds have all, at once.
func (s *Service) bound(ctx context.Context, all []network.Allocation) ([]network.Allocation, error) {
	intended := slices.DeleteFunc(slices.Clone(all), func(a network.Allocation) bool { return a.State != network.Intended })
	after, err := s.ledger.UpdateAll(ctx, func(a *network.Allocation) error { return settle(a.Binding, a.Cloud, network.Bound)(a) }, owners(intended)...)
	if errors.Is(err, network.ErrNotHeld) {
		err = errGivenBack // by another server, which knows that the cloud has it
	}
	if err != nil {
		return all, err
	}
	for i, a := range all {
		if at := slices.IndexFunc(after, func(b network.Allocation) bool { return b.Owner == a.Owner }); at >= 0 {
			all[i] = after[at]
		}
	}
	return all, nil
}
