// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
		has := a
		_ = settle(binding, by, state)(&has) // an intent is never given back
		s.insist(ctx, has)
		err = errGivenBack
	}
	return a, err
}

// insist tells the cloud of a release of which the ledger does not know, as often as there is time for; then it is reported. Nothing is told when the owner
// has what the cloud has by another server meanwhile, and nothing as long as that is not known.
func (s *Service) insist(ctx context.Context, a network.Allocation) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := s.tellUnless(ctx, a, nil, func() (bool, error) { return s.anew(ctx, a) })
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
