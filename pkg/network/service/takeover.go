// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// maximumTakeovers bounds how often it is tried to choose what was released for it; the pauses between grow from a millisecond to an eighth of a second.
const maximumTakeovers = 9

// takeOver releases what stands at the addresses of requests, and chooses those. What somebody else is freeing or choosing at the same moment is
// in the way for as long as a commit takes.
func (s *Service) takeOver(ctx context.Context, requests []Request, intents []ledger.Intent) (all []network.Allocation, fresh []bool, err error) {
	freed := map[place]bool{}
	for i := range maximumTakeovers {
		if err = s.evictAll(ctx, requests, freed); err != nil {
			break
		}
		all, fresh, err = s.ledger.ReserveAll(ctx, intents)
		if !errors.Is(err, network.ErrTaken) || i == maximumTakeovers-1 {
			break
		}
		pause, cancel := context.WithTimeout(ctx, time.Millisecond<<i)
		<-pause.Done()
		cancel()
	}
	if err != nil {
		s.restAgain(ctx, freed)
	}
	return all, fresh, err
}

// place is an address of a pool.
type place struct {
	pool    string
	address netip.Addr
}

// evictAll releases what stands at the addresses that requests take over, and notes what was freed.
func (s *Service) evictAll(ctx context.Context, requests []Request, freed map[place]bool) error {
	owners := ownersOf(requests)
	for _, r := range requests {
		if !r.TakeOver {
			continue
		}
		for _, address := range r.Addresses {
			was, err := s.evict(ctx, r, address, owners)
			if was {
				freed[place{r.Pool, address}] = true
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// evict frees an address, and says whether it was another's, or rested.
func (s *Service) evict(ctx context.Context, r Request, address netip.Addr, together []network.Owner) (freed bool, err error) {
	held, err := s.ledger.At(ctx, r.Pool, address)
	if errors.Is(err, network.ErrNotHeld) {
		// It rests: whoever decides about addresses of this contract may give it away sooner.
		return s.ledger.Rouse(ctx, r.Owner.Contract, r.Pool, address)
	}
	switch {
	case err != nil:
		return false, err
	case held.Owner.Contract != r.Owner.Contract:
		return false, fmt.Errorf("%w: %s is held under another contract", network.ErrTaken, address)
	case held.Owner == r.Owner:
		return false, nil
	case slices.Contains(together, held.Owner):
		return false, fmt.Errorf("%w: %s is held by another owner of the same request", network.ErrTaken, address)
	}
	if err := s.oust(ctx, held.Owner, address); err != nil {
		return false, fmt.Errorf("%w: what %s held before is not released: %w", network.ErrUnavailable, address, err)
	}
	// What went with it, such as a VLAN, rests: its link may still be there.
	_, err = s.ledger.Rouse(ctx, r.Owner.Contract, r.Pool, address)
	return true, err
}

// restAgain lets addresses rest that were freed to be taken over, and then were not: their last holders may use them still.
func (s *Service) restAgain(ctx context.Context, freed map[place]bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	for at := range freed {
		pool, err := s.pool(at.pool)
		if err != nil || pool.Rest == 0 {
			continue
		}
		if err := s.ledger.Rest(ctx, at.pool, at.address, s.options.Clock.Now().Add(pool.Rest)); err != nil {
			s.options.Report(network.Owner{}, fmt.Errorf("letting %s rest again: %w", at.address, err))
		}
	}
}

// errElsewhere says that an owner has got something else meanwhile.
var errElsewhere = errors.New("the address is not held any more")

// oust releases what an owner that is to go holds, if the address is still among it. It waits for a part of its own time only, as that owner
// may be waiting for an address of the one that came: then both try again.
func (s *Service) oust(ctx context.Context, owner network.Owner, address netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Budget/8)
	defer cancel()
	_, err := s.fly(ctx, ending, func(ctx context.Context) ([]network.Allocation, error) {
		a, err := s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
			if !slices.Contains(a.Addresses, address) {
				return errElsewhere
			}
			return markReleasing(a)
		})
		if errors.Is(err, network.ErrNotHeld) || errors.Is(err, errElsewhere) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if err := s.end(ctx, a, nil); err != nil {
			s.releases.add(owner)
			return nil, err
		}
		return nil, nil
	}, owner)
	return err
}
