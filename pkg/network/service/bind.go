// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// errGivenBack says that an allocation was given back while the cloud was asked.
var errGivenBack = fmt.Errorf("%w: it was given back meanwhile", network.ErrUnavailable)

// bind asks the cloud, and notes what it says, with a state. What fails otherwise than by a refusal, or as nothing was sent, stays as it is, so that the next attempt
// goes on with it. The allocation is given in any case.
func (s *Service) bind(ctx context.Context, a network.Allocation, state network.State, p *pass) (_ network.Allocation, err error) {
	defer s.survive(a.Owner, &err)
	binding, by := a.Binding, a.Cloud
	if !known(binding) {
		if binding, by, err = s.ask(ctx, a, p); err != nil {
			return a, err
		}
	}
	bound, err := s.note(ctx, a, binding, by, state)
	switch {
	case err == nil:
		return bound, nil
	case errors.Is(err, errGivenBack):
		s.releases.add(a.Owner) // the cloud may have been told of the release before it was told of this
	case errors.Is(err, network.ErrNotHeld):
		// Another server has released it. The ledger knows no more that the cloud has it.
		a.Binding, a.Cloud = binding, by
		s.insist(ctx, a)
		err = errGivenBack
	}
	return a, err
}

// insist tells the cloud of a release of which the ledger does not know, as often as there is time for; then it is reported. Nothing is told when the owner
// has what the cloud has by another server meanwhile, and nothing as long as that is not known.
func (s *Service) insist(ctx context.Context, a network.Allocation) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := s.tellUnless(ctx, a, func() (bool, error) { return s.anew(ctx, a) })
		if err == nil {
			return
		}
		timer := s.options.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			s.options.Report(a.Owner, fmt.Errorf("taking back what was released while it was bound, which the cloud may keep: %w", err))
			return
		}
	}
}

// anew says whether an owner has been given again what the cloud has of it; the error says that this is not known yet.
func (s *Service) anew(ctx context.Context, a network.Allocation) (bool, error) {
	held, err := s.ledger.Get(ctx, a.Owner)
	switch {
	case errors.Is(err, network.ErrNotHeld):
		return false, nil
	case err != nil:
		return false, err
	case held.State == network.Intended:
		return false, errors.New("it is being given anew")
	}
	return held.Cloud == a.Cloud && bytes.Equal(held.Binding.Reference, a.Binding.Reference) && slices.Equal(held.Addresses, a.Addresses), nil
}

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

// known says whether the cloud has said something of an allocation, so that it has it.
func known(b network.Binding) bool {
	return len(b.Reference) > 0 || len(b.MAC) > 0 || len(b.Addresses) > 0 || b.VLAN != 0
}

// ask asks the cloud, and again when it wants to be left alone for a time that there is. It gives the name of the cloud.
func (s *Service) ask(ctx context.Context, a network.Allocation, p *pass) (binding network.Binding, by string, err error) {
	of, err := s.behind(a)
	if err != nil || of.cloud == nil {
		return binding, of.name, err
	}
	p = of.turn(p)
	for {
		err = p.do(ctx, func() error {
			var err error
			binding, err = of.cloud.Bind(ctx, a)
			return err
		})
		if errors.Is(err, network.ErrExhausted) {
			s.exhausted.count(Exhaustion{a.Pool, network.OfCloud})
		}
		after := retryAfter(err)
		switch {
		case err == nil, errors.Is(err, network.ErrRefused), errors.Is(err, network.ErrNotSent):
			return binding, of.name, err
		case after == 0:
			return binding, of.name, fmt.Errorf("%w: %w", network.ErrUnavailable, err)
		case of.gate == nil || !s.lasts(ctx, after):
			return binding, of.name, &network.Busy{RetryAfter: after, Of: "the cloud of the pool " + a.Pool}
		}
		p = of.gate.queue(true)
	}
}

// lasts says whether a context lasts so long.
func (s *Service) lasts(ctx context.Context, d time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	return !bounded || deadline.Sub(s.options.Clock.Now()) > d
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
