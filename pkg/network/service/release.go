// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Release takes back what an owner holds. It returns when that is remembered; the cloud is told in the background, as often as
// needed. An owner that holds nothing is no error. What is being done for the owner comes to its end first; a caller that does not wait for
// that has released all the same, as many never try again.
func (s *Service) Release(ctx context.Context, owner network.Owner) error {
	return s.releaseIf(ctx, releasing, owner, func(network.Allocation) bool { return true })
}

// ReleaseSince is Release of what the owner has been holding since a time, and does nothing when it holds something else by now.
func (s *Service) ReleaseSince(ctx context.Context, owner network.Owner, since time.Time) error {
	return s.releaseIf(ctx, reclaiming, owner, func(a network.Allocation) bool { return a.Since.Equal(since) })
}

// ReleaseOf is Release of what the owner holds for a holder with a UID, and does nothing when it holds something else by now.
func (s *Service) ReleaseOf(ctx context.Context, owner network.Owner, uid string) error {
	return s.releaseIf(ctx, reclaiming, owner, func(a network.Allocation) bool { return a.Holder.UID == uid })
}

func (s *Service) releaseIf(ctx context.Context, p purpose, owner network.Owner, is func(network.Allocation) bool) error {
	do := func(ctx context.Context) ([]network.Allocation, error) { return nil, s.remember(ctx, owner, is) }
	_, err := s.flyHere(ctx, p, do, owner)
	return err
}

// remember notes that what an owner holds is released. Where no cloud must be told, it is over then.
func (s *Service) remember(ctx context.Context, owner network.Owner, is func(network.Allocation) bool) error {
	now := s.options.Clock.Now()
	left, err := s.ledger.ForgetIf(ctx, owner, now, func(a network.Allocation) (time.Time, bool) {
		pool, err := s.pool(a.Pool)
		if err != nil {
			return now, false
		}
		of, err := s.behind(a)
		return now.Add(pool.Rest), err == nil && of.cloud == nil && is(a)
	})
	if err != nil || left == nil || !is(*left) {
		return err
	}
	_, err = s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		if !is(*a) { // by now: somebody may have claimed it
			return errHeld
		}
		return markReleasing(a)
	})
	switch {
	case err == nil:
		s.releases.add(owner)
	case errors.Is(err, errHeld), errors.Is(err, network.ErrNotHeld):
		err = nil
	}
	return err
}

func markReleasing(a *network.Allocation) error {
	a.State = network.Releasing
	return nil
}

// end brings a release to its end: it tells the cloud, and lets what was held rest as the pool says.
func (s *Service) end(ctx context.Context, a network.Allocation, p *pass) error {
	if err := s.tell(ctx, a, p); err != nil {
		return fmt.Errorf("releasing in the cloud: %w", err)
	}
	return s.rest(ctx, a)
}

// tell tells the cloud that an allocation is released. Without a pass, somebody waits for it.
func (s *Service) tell(ctx context.Context, a network.Allocation, p *pass) error {
	return s.tellUnless(ctx, a, p, func() (bool, error) { return false, nil })
}

// tellUnless is tell, unless something is so when it is its turn.
func (s *Service) tellUnless(ctx context.Context, a network.Allocation, p *pass, so func() (bool, error)) error {
	of, err := s.behind(a)
	if err != nil || of.cloud == nil {
		return err
	}
	return of.turn(p).do(ctx, func() error {
		if is, err := so(); is || err != nil {
			return err
		}
		return of.cloud.Unbind(ctx, a)
	})
}

// rest forgets what was held, and lets it rest as the pool says.
func (s *Service) rest(ctx context.Context, a network.Allocation) error {
	pool, err := s.pool(a.Pool)
	if err != nil {
		return err
	}
	return s.forget(ctx, a, pool.Rest)
}

// forget forgets an allocation, unless another server has made something else of it meanwhile: what that has been told by the cloud, or has given to the
// owner anew, is not what is over.
func (s *Service) forget(ctx context.Context, a network.Allocation, rest time.Duration) error {
	now := s.options.Clock.Now()
	_, err := s.ledger.ForgetIf(ctx, a.Owner, now, func(found network.Allocation) (time.Time, bool) {
		return now.Add(rest), found.State == a.State && found.Since.Equal(a.Since) && (known(a.Binding) || !known(found.Binding))
	})
	return err
}

// crowdedPause is the pause when too many releases wait for their turn at a gate.
const crowdedPause = time.Second

// finish brings a release to its end when it is its turn, or puts it off.
func (s *Service) finish(ctx context.Context, e entry) {
	if e.gate.crowded() {
		s.releases.keep(e, e.gate, crowdedPause)
		return
	}
	a, err := s.ledger.Get(context.WithoutCancel(ctx), e.owner)
	switch {
	case errors.Is(err, network.ErrNotHeld), err == nil && a.State != network.Releasing:
		s.releases.done(e)
		return
	case err != nil:
		s.releases.again(e)
		s.options.Report(e.owner, err)
		return
	}
	if parks, fresh, err := s.park(a); parks {
		s.releases.done(e)
		if fresh {
			s.options.Report(e.owner, err)
		}
		return
	}
	of, err := s.behind(a)
	if err != nil || of.gate == nil || of.cloud == nil {
		s.conclude(e, nil)
		return
	}
	if !of.gate.later(func(p *pass) { s.conclude(e, p) }) {
		s.releases.keep(e, of.gate, crowdedPause)
	}
}

// conclude brings a release to its end. It does not wait for what else is being done for the owner, as that may wait for the pass.
func (s *Service) conclude(e entry, p *pass) {
	defer p.cancel()
	over, err := s.flyAlone(ending, s.ends(e.owner, p), e.owner)
	switch {
	case errors.Is(err, errEnds): // the ledger remembers it
	case err != nil:
		s.releases.again(e)
		s.options.Report(e.owner, err)
	case over != nil:
		go func() { <-over; s.releases.put(e, 0) }()
	default:
		s.releases.done(e)
	}
}

// ends brings the release of an owner to its end, if there is one.
func (s *Service) ends(owner network.Owner, p *pass) work {
	return func(ctx context.Context) ([]network.Allocation, error) {
		a, err := s.ledger.Get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && a.State != network.Releasing {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return nil, s.end(ctx, a, p)
	}
}
