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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Release takes back what an owner holds. It returns when the release is recorded; the cloud is told in the background, as often as needed. An
// owner that holds nothing is no error. Requests for the owner that arrived before are refused from then on. Work that is being done for the owner
// is finished first; a release goes on if its caller does not wait for that, since many callers never repeat it.
func (s *Service) Release(ctx context.Context, owner network.Owner) error {
	return s.releaseIf(ctx, owner, s.ledger.ReleaseIf, func(network.Allocation) bool { return true })
}

// ReleaseSince releases what the owner has held since a time; it does nothing if the owner holds something else. The owner may come back at once.
func (s *Service) ReleaseSince(ctx context.Context, owner network.Owner, since time.Time) error {
	return s.releaseIf(ctx, owner, s.ledger.TakeIf, func(a network.Allocation) bool { return a.Since.Equal(since) })
}

// ReleaseOf releases what the owner holds for a holder with a UID; it does nothing if the owner holds something else.
func (s *Service) ReleaseOf(ctx context.Context, owner network.Owner, uid string) error {
	return s.releaseIf(ctx, owner, s.ledger.TakeIf, func(a network.Allocation) bool { return a.Holder.UID == uid })
}

// Retract releases an allocation whose creator could not answer with it, unless another request was given it.
func (s *Service) Retract(ctx context.Context, of network.Allocation) error {
	return s.releaseIf(ctx, of.Owner, s.ledger.TakeIf, func(a network.Allocation) bool { return sameAllocation(a, of) && !a.Answered })
}

// errHeld ends an update that changes nothing.
var errHeld = errors.New("it is held by another holder")

// Quit changes the holder of an allocation, and releases it in the same commit if change says so. If change says that it is not its own, nothing
// happens. An owner that holds nothing is no error.
func (s *Service) Quit(ctx context.Context, owner network.Owner, change func(*network.Holder) (own, over bool)) error {
	over := false
	a, err := s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return network.ErrNotHeld
		}
		var own bool
		if own, over = change(&a.Holder); !own {
			return errHeld
		}
		if over {
			return markReleasing(s.ledger.Server())(a)
		}
		return nil
	})
	switch {
	case errors.Is(err, network.ErrNotHeld), errors.Is(err, errHeld):
		return nil
	case err != nil || !over:
		return err
	}
	return s.releaseIf(ctx, owner, s.ledger.TakeIf, func(now network.Allocation) bool {
		return sameAllocation(a, now) && now.State == network.Releasing
	})
}

// releaser is ledger.Ledger.ReleaseIf or TakeIf.
type releaser func(
	ctx context.Context, owner network.Owner, now time.Time, decide func(network.Allocation) (time.Time, ledger.Release),
) (*network.Allocation, error)

// releaseIf releases what an owner holds if the function says so.
func (s *Service) releaseIf(ctx context.Context, owner network.Owner, release releaser, is func(network.Allocation) bool) error {
	done, err := s.work.begin(true)
	if err != nil {
		return err
	}
	work := func(ctx context.Context) error {
		defer done()
		unlock, err := s.owners.Lock(ctx, owner.String())
		if err != nil {
			return fmt.Errorf("%w: other work for the owner is not finished: %w", network.ErrUnavailable, err)
		}
		defer unlock()
		return s.recordRelease(ctx, owner, release, is)
	}
	if !s.ledger.Shared() && !s.owners.Held(owner.String()) {
		return s.within(ctx, owner, s.options.Budget, work)
	}
	return s.detach(ctx, owner, func(ctx context.Context) error {
		err := work(ctx)
		if err != nil && errors.Is(err, context.DeadlineExceeded) {
			s.options.Report(owner, err)
		}
		return err
	})
}

// recordRelease records a release. Without a cloud it is complete then.
func (s *Service) recordRelease(ctx context.Context, owner network.Owner, release releaser, is func(network.Allocation) bool) error {
	now := s.options.Clock.Now()
	left, err := release(ctx, owner, now, func(a network.Allocation) (time.Time, ledger.Release) {
		if !is(a) {
			return now, ledger.Kept
		}
		pool, err := s.pool(a.Pool)
		of, unknown := s.backend(a)
		if err == nil && unknown == nil && of.cloud == nil {
			return now.Add(pool.Rest), ledger.Forgotten
		}
		return now, ledger.Marked
	})
	if err == nil && left != nil && left.State == network.Releasing {
		s.reconciler.add(*left)
	}
	return err
}

// finishRelease unbinds an allocation and removes it. No unbind is sent while a call may still bind the allocation: until then the owner may come
// back, and a late unbind would remove what it is given.
func (s *Service) finishRelease(ctx context.Context, a network.Allocation, p *pass) error {
	if a.BindUntil.After(s.options.Clock.Now()) {
		p.cancel()
		return fmt.Errorf("%w: a call that binds it may take effect until %s", network.ErrUnavailable, a.BindUntil.Format(time.RFC3339))
	}
	if err := s.takeRelease(ctx, a); err != nil {
		p.cancel()
		return err
	}
	if err := s.unbindUnless(ctx, a, p, func() (bool, error) { return false, nil }); err != nil {
		return fmt.Errorf("releasing in the cloud: %w", err)
	}
	pool, err := s.pool(a.Pool)
	if err != nil {
		return err
	}
	return s.forget(ctx, a, pool.Rest)
}

// takeRelease makes this process the worker of a release, unless another server that holds its lease is.
func (s *Service) takeRelease(ctx context.Context, a network.Allocation) error {
	if a.Worker == s.ledger.Server() {
		return nil
	}
	alive, err := s.ledger.Alive(ctx, a.Worker)
	if err != nil {
		return err
	}
	if alive {
		return fmt.Errorf("%w: another server is releasing it", network.ErrUnavailable)
	}
	_, err = s.ledger.Update(ctx, a.Owner, func(found *network.Allocation) error {
		if !sameAllocation(*found, a) || found.Worker != a.Worker {
			return fmt.Errorf("%w: another server has changed it", network.ErrUnavailable)
		}
		found.Worker = s.ledger.Server()
		return nil
	})
	if errors.Is(err, network.ErrNotHeld) {
		return nil
	}
	return err
}

// unbindUnless calls the cloud to unbind an allocation, unless a condition holds when it is its turn.
func (s *Service) unbindUnless(ctx context.Context, a network.Allocation, p *pass, so func() (bool, error)) error {
	of, err := s.backend(a)
	if err != nil || of.cloud == nil {
		p.cancel()
		return err
	}
	return s.callCloud(ctx, of.turn(p), func(ctx context.Context) error {
		if is, err := so(); is || err != nil {
			return err
		}
		return of.cloud.Unbind(ctx, a)
	})
}

// forget removes an allocation unless it was changed: another server may have recorded what the cloud says, or the owner may hold another one.
func (s *Service) forget(ctx context.Context, a network.Allocation, rest time.Duration) error {
	now := s.options.Clock.Now()
	_, err := s.ledger.ForgetIf(ctx, a.Owner, now, func(found network.Allocation) (time.Time, bool) {
		return now.Add(rest), found.State == a.State && sameAllocation(found, a) && (known(a.Binding) || !known(found.Binding))
	})
	return err
}
