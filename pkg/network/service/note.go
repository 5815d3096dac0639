// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// longestPause is the longest between attempts to note what a cloud has chosen; the first is a millisecond.
const longestPause = 256 * time.Millisecond

// note notes what the cloud of a name says, with a state. An address that it has chosen may be that of somebody whose release the cloud has seen, and the
// ledger not yet: that comes to its end first. The errors are those of ledger.Update; network.ErrUnavailable when the release does not end.
func (s *Service) note(ctx context.Context, a network.Allocation, binding network.Binding, by string, state network.State) (network.Allocation, error) {
	after, err := s.noteAll(ctx, state, map[network.Owner]said{a.Owner: {a, binding, by}})
	return after[0], err
}

// said is what the cloud of a name says of an allocation.
type said struct {
	of      network.Allocation
	binding network.Binding
	by      string
}

// noteAll is note of several allocations at once. The results are in no order.
func (s *Service) noteAll(ctx context.Context, state network.State, all map[network.Owner]said) ([]network.Allocation, error) {
	owners := slices.Collect(maps.Keys(all))
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		after, err := s.ledger.UpdateAll(ctx, func(a *network.Allocation) error {
			return settle(all[a.Owner].binding, all[a.Owner].by, state)(a)
		}, owners...)
		if !errors.Is(err, network.ErrTaken) {
			return after, err
		}
		over, ended := s.vacateAll(ctx, all)
		switch {
		case errors.Is(ended, network.ErrTaken):
			return after, err
		case ended == nil && ctx.Err() != nil:
			ended = ctx.Err()
		}
		if ended != nil {
			return after, fmt.Errorf("%w: what the cloud has chosen is another's, whose release is not finished: %w", network.ErrUnavailable, ended)
		}
		waiting, cancel := context.WithTimeout(ctx, pause)
		select {
		case <-over:
		case <-waiting.Done():
		}
		cancel()
	}
}

// vacateAll is vacate of all that was chosen for others.
func (s *Service) vacateAll(ctx context.Context, all map[network.Owner]said) (over <-chan struct{}, err error) {
	for _, one := range all {
		if over, err = s.vacate(ctx, one.of, one.binding.Addresses); over != nil || err != nil {
			return over, err
		}
	}
	return nil, nil
}

// vacate brings the releases of those who held addresses to their end. When something is being done for one of them, it gives what is closed when that is
// over; the error wraps network.ErrTaken where one is held by somebody who has not given it back.
func (s *Service) vacate(ctx context.Context, a network.Allocation, addresses []netip.Prefix) (over <-chan struct{}, err error) {
	for _, chosen := range addresses {
		held, err := s.ledger.At(ctx, a.Pool, chosen.Addr())
		switch {
		case errors.Is(err, network.ErrNotHeld), err == nil && held.Owner == a.Owner:
			continue
		case err != nil:
			return nil, err
		case held.State == network.Intended:
			if over := s.underway(held.Owner, a.Owner); over != nil {
				return over, nil // it may be undone, of which the cloud knows already
			}
			now, err := s.ledger.Get(ctx, held.Owner)
			if err == nil && now.State == network.Intended && now.Since.Equal(held.Since) {
				err = network.ErrTaken
			}
			if errors.Is(err, network.ErrNotHeld) {
				err = nil
			}
			return nil, err // where it has become something else meanwhile, that is looked at next
		case held.State != network.Releasing:
			return nil, network.ErrTaken
		}
		if over, err = s.flyAlone(ending, s.ends(held.Owner, nil), held.Owner); over != nil || err != nil {
			return over, err
		}
	}
	return nil, nil
}

// settle notes what the cloud of a name says, and what it has chosen.
func settle(binding network.Binding, by string, state network.State) func(*network.Allocation) error {
	return func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return errGivenBack
		}
		if a.Binding, a.Cloud = binding, by; a.State == network.Intended {
			a.State = state
		}
		if a.State == network.Bound {
			a.Together = network.Owner{}
		}
		for _, chosen := range binding.Addresses {
			if !slices.Contains(a.Addresses, chosen.Addr()) {
				a.Addresses = append(a.Addresses, chosen.Addr())
			}
		}
		return nil
	}
}
