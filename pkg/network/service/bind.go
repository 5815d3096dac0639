// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// bindAll calls the clouds for all unbound allocations concurrently. None becomes bound before all calls have
// succeeded. After a permanent failure, all are undone except those that were bound before.
func (c *call) bindAll(ctx context.Context) error {
	if !slices.ContainsFunc(c.all, func(a network.Allocation) bool { return a.State == network.Intended }) {
		return nil
	}
	problems := make([]error, len(c.all))
	state := network.Bound
	if len(c.all) > 1 {
		state = network.Intended
	}
	var group sync.WaitGroup
	for i, a := range c.all {
		if a.State == network.Intended {
			group.Go(func() { c.all[i], problems[i] = c.bind(ctx, i, state) })
		}
	}
	group.Wait()
	err := errors.Join(problems...)
	if err == nil && len(c.all) > 1 {
		err = c.completeAll(ctx, c.all)
	}
	if err == nil {
		return nil
	}
	if permanent(err) {
		c.undoAll(ctx, problems)
	} else {
		c.leaveIntents(ctx)
	}
	return err
}

// maximumInUse limits the attempts with other addresses after the cloud reported one in use.
const maximumInUse = 8

// bind calls the cloud for one allocation and records the outcome. If a chosen address is in use, it chooses another.
func (c *call) bind(ctx context.Context, i int, state network.State) (a network.Allocation, err error) {
	a = c.all[i]
	defer c.recoverPanic(a.Owner, &err)
	p := c.turns[i]
	for range maximumInUse {
		var bound network.Allocation
		bound, err = c.bindOnce(ctx, a, state, p)
		if err == nil {
			return bound, nil
		}
		if !errors.Is(err, network.ErrInUse) || !c.fresh[i] || len(c.intents[i].Addresses) > 0 {
			return a, err
		}
		replaced, replacing := c.replace(ctx, i, a)
		if replacing != nil {
			return a, errors.Join(err, replacing)
		}
		a, p = replaced, nil
	}
	return a, err
}

// inUseQuarantine is the minimum quarantine of an address that something else in the cloud uses, so that the next requests
// try other addresses.
const inUseQuarantine = time.Minute

// replace allocates another address for an owner instead of one that is in use in the cloud.
func (c *call) replace(ctx context.Context, i int, a network.Allocation) (network.Allocation, error) {
	pool, err := c.pool(a.Pool)
	if err != nil {
		return a, err
	}
	if err := c.deleteUnchanged(ctx, a, max(pool.Quarantine, inUseQuarantine)); err != nil {
		return a, err
	}
	in := c.intents[i]
	in.Now, in.Together, in.Request, in.Grouped = a.Since, a.Together, a.Request, false
	replaced, _, err := c.ledger.Reserve(ctx, in)
	return replaced, c.noteExhausted(err)
}

// bindOnce calls the cloud once, unless it is known to have the allocation, and records the result.
func (s *Service) bindOnce(ctx context.Context, a network.Allocation, state network.State, p *turn) (network.Allocation, error) {
	a, err := s.becomeWorker(ctx, a)
	if err != nil || a.State == network.Bound {
		return a, err
	}
	of, err := s.backend(a)
	if err != nil {
		return a, err
	}
	binding, earlier := a.Binding, a.BindUntil
	if !confirmed(binding) && of.Cloud != nil {
		if binding, err = s.callBind(ctx, a, of, p); err != nil {
			return a, err
		}
	}
	return s.record(ctx, a, bindResult{binding, of.name, earlier}, state)
}

// poll is the interval between reads of a row that another server works on. A bind takes some tenths of a second.
const poll = 50 * time.Millisecond

// becomeWorker makes this process the worker of an allocation. It waits while another server with a valid lease works on
// it, and returns the allocation as it is then; it may be bound.
func (s *Service) becomeWorker(ctx context.Context, a network.Allocation) (network.Allocation, error) {
	a, err := s.waitForWorker(ctx, a)
	if err != nil || a.State == network.Bound || a.Worker == s.ledger.Server() {
		return a, err
	}
	return s.updateIntent(ctx, a, func(found *network.Allocation) { found.Worker = s.ledger.Server() })
}

// updateIntent changes an allocation unless it was released, or another server has become its worker.
func (s *Service) updateIntent(ctx context.Context, a network.Allocation, change func(found *network.Allocation)) (network.Allocation, error) {
	now, err := s.update(ctx, a, func(found *network.Allocation) error {
		if found.State == network.Releasing {
			return errReleased
		}
		if found.Worker != a.Worker {
			return fmt.Errorf("%w: another server works on it", network.ErrUnavailable)
		}
		change(found)
		return nil
	})
	if errors.Is(err, network.ErrNotHeld) {
		err = errReleased
	}
	if err != nil {
		return a, err
	}
	return now, nil
}

// waitForWorker waits until no other living server works on an allocation, or until that server has bound it, and returns it as it is
// then. It returns errReleased if the allocation is being released or was replaced.
func (s *Service) waitForWorker(ctx context.Context, a network.Allocation) (network.Allocation, error) {
	for a.Worker != s.ledger.Server() && a.State != network.Bound {
		alive, err := s.ledger.Alive(ctx, a.Worker)
		if err != nil || !alive {
			return a, err
		}
		if err := s.sleep(ctx, poll); err != nil {
			return a, err
		}
		now, err := s.ledger.Get(ctx, a.Owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && (now.Generation != a.Generation || now.State == network.Releasing) {
			err = errReleased
		}
		if err != nil {
			return a, err
		}
		a = now
	}
	return a, nil
}

// minimumLease is the rest of the lease that a cloud call requires at its start.
const minimumLease = time.Second

// callCloud calls a cloud in the turn p, or in a new one if that belongs to another cloud. It checks the lease directly before the call, and
// the call ends before the lease.
func (s *Service) callCloud(ctx context.Context, of LimitedCloud, p *turn, do func(ctx context.Context) error) error {
	if p == nil || p.limiter != of.Limiter {
		p.cancel()
		p = of.Limiter.enqueue(false)
	}
	return p.do(ctx, func() error {
		left := s.ledger.Lease()
		if left < minimumLease {
			return fmt.Errorf("%w: this server's lease has ended", network.ErrUnavailable)
		}
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		return do(ctx)
	})
}

// callBind calls the cloud. Before, it records until when the call may have an effect; the call ends so early that it
// cannot be sent too late for that, even if this process is paused before it.
func (s *Service) callBind(ctx context.Context, a network.Allocation, of LimitedCloud, p *turn) (binding network.Binding, err error) {
	err = s.callCloud(ctx, of, p, func(ctx context.Context) error {
		if of.Settle > 0 {
			until := s.options.Clock.Now().Add(of.Settle + of.Settle/2 + of.Settle/4)
			_, err := s.updateIntent(ctx, a, func(found *network.Allocation) {
				if found.BindUntil.Before(until) { // an earlier call may have had a longer timeout
					found.BindUntil = until
				}
			})
			if err != nil {
				return err
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, until.Add(-of.Settle).Sub(s.options.Clock.Now()))
			defer cancel()
		}
		binding, err = of.Cloud.Bind(ctx, a)
		return err
	})
	if errors.Is(err, network.ErrExhausted) {
		s.countExhausted(Exhaustion{a.Pool, network.OfCloud})
	}
	after := requestedPause(err)
	switch {
	case err == nil, errors.Is(err, network.ErrRefused), errors.Is(err, network.ErrNotSent):
		return binding, err
	case after > 0:
		return binding, &network.Busy{RetryAfter: after, Of: "the cloud of the pool " + a.Pool}
	}
	return binding, fmt.Errorf("%w: %w", network.ErrUnavailable, err)
}

// bindResult is the result of a cloud call, with the time until which earlier calls may still take effect.
type bindResult struct {
	binding network.Binding
	cloud   string
	earlier time.Time
}

// applyOutcome records the outcome of a call.
func applyOutcome(a *network.Allocation, o bindResult, state network.State) error {
	if a.State == network.Releasing {
		return errReleased
	}
	a.Binding, a.Cloud, a.BindUntil = o.binding, o.cloud, o.earlier
	if state == network.Bound {
		ledger.CompleteRequest(a)
	}
	for _, chosen := range o.binding.Addresses {
		if !slices.Contains(a.Addresses, chosen.Addr()) {
			a.Addresses = append(a.Addresses, chosen.Addr())
		}
	}
	return nil
}

// longestPause is the longest pause between attempts to record the cloud's choice; the first is a millisecond.
const longestPause = 256 * time.Millisecond

// record writes the result of a cloud call. If another owner still has an address that the cloud selected, because the
// cloud has already processed its release, that release is completed first.
func (s *Service) record(ctx context.Context, a network.Allocation, o bindResult, state network.State) (network.Allocation, error) {
	if !o.earlier.After(s.options.Clock.Now()) {
		o.earlier = time.Time{}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		recorded, err := s.update(ctx, a, func(found *network.Allocation) error {
			alone := found.State == network.Intended && state == network.Bound
			if err := applyOutcome(found, o, state); err != nil {
				return err
			}
			if alone {
				found.Request = 0 // it does not prove that the rest of an earlier request is bound
			}
			return nil
		})
		switch {
		case err == nil:
			return recorded, nil
		case errors.Is(err, errReleased):
			s.recordOutcome(ctx, a, o)
			return a, err
		case errors.Is(err, network.ErrNotHeld):
			// Another server took it over and released it. The cloud may have processed that release before this call.
			has := a
			_ = applyOutcome(&has, o, state) // it cannot fail for an intent
			s.retryUnbind(ctx, has)
			return a, errReleased
		case !errors.Is(err, network.ErrTaken):
			return a, err
		}
		if failed := s.finishReleasesOf(ctx, a, o.binding.Addresses); errors.Is(failed, network.ErrTaken) {
			return a, err
		} else if failed != nil {
			return a, fmt.Errorf("%w: the cloud chose an address of another owner, and its release is not finished: %w", network.ErrUnavailable, failed)
		}
		if err := s.sleep(ctx, pause); err != nil {
			return a, err
		}
	}
}

// recordOutcome records in the row of a release that a binding call has ended, with its result.
func (s *Service) recordOutcome(ctx context.Context, a network.Allocation, o bindResult) {
	released, err := s.update(ctx, a, func(found *network.Allocation) error {
		if found.State == network.Releasing {
			found.BindUntil, found.Binding = o.earlier, o.binding
			found.Binding.Addresses = nil // they do not belong to its resources
		}
		return nil
	})
	if err == nil {
		s.reconciler.add(released)
	}
}

// retryUnbind unbinds a removed allocation, with retries until a time limit. It stops if the owner has received the same
// resources again.
func (s *Service) retryUnbind(ctx context.Context, a network.Allocation) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := s.unbindUnless(ctx, a, false, func() (bool, error) { return s.isReallocated(ctx, a) })
		if err == nil {
			return
		}
		if s.sleep(ctx, pause) != nil {
			s.options.Report(a.Owner, fmt.Errorf("removing the binding of an allocation that was released during its bind (the cloud may keep it): %w", err))
			return
		}
	}
}

// isReallocated reports whether an owner has received again the resources that the cloud has bound. The error means that this
// is unknown.
func (s *Service) isReallocated(ctx context.Context, a network.Allocation) (bool, error) {
	held, err := s.ledger.Get(ctx, a.Owner)
	switch {
	case errors.Is(err, network.ErrNotHeld):
		return false, nil
	case err != nil:
		return false, err
	case held.State == network.Intended:
		return false, errors.New("it is being allocated again")
	}
	return held.Cloud == a.Cloud && bytes.Equal(held.Binding.Reference, a.Binding.Reference) && slices.Equal(held.Addresses, a.Addresses), nil
}

// finishReleasesOf finishes releases of addresses' owners. The error wraps network.ErrTaken if one is not released.
func (s *Service) finishReleasesOf(ctx context.Context, a network.Allocation, addresses []netip.Prefix) error {
	for _, chosen := range addresses {
		held, err := s.ledger.ByAddress(ctx, a.Pool, chosen.Addr())
		switch {
		case errors.Is(err, network.ErrNotHeld), err == nil && held.Owner == a.Owner:
			continue
		case err != nil:
			return err
		case s.owners.IsLocked(held.Owner.String()) && held.State != network.Bound:
			return ctx.Err() // it may have been rolled back or released, and the cloud was called for that
		case held.State != network.Releasing:
			return network.ErrTaken
		}
		if err := s.finishRelease(ctx, held, false); err != nil {
			return err
		}
		return ctx.Err()
	}
	return ctx.Err()
}

// completeAll marks the intended ones of a request's allocations as bound, beginning with the first. If it fails, all is unchanged.
func (s *Service) completeAll(ctx context.Context, all []network.Allocation) error {
	var owners []network.Owner
	var places []int
	for i, a := range all {
		if a.State == network.Intended {
			owners, places = append(owners, a.Owner), append(places, i)
		}
	}
	after, err := s.ledger.UpdateAll(ctx, func(a *network.Allocation) error {
		if a.State == network.Bound {
			return nil
		}
		return applyOutcome(a, bindResult{a.Binding, a.Cloud, a.BindUntil}, network.Bound)
	}, owners...)
	if errors.Is(err, network.ErrNotHeld) {
		return errReleased // another server has released it, and unbinds it
	}
	if err != nil {
		return err
	}
	for i, place := range places {
		all[place] = after[i]
	}
	return nil
}

// rollbackLimit limits the time to record a rollback.
const rollbackLimit = 10 * time.Second

// undoAll rolls back a request after a permanent error, except earlier allocations. Allocations without any cloud call
// are removed immediately. A call that this request did not send may have been sent by an earlier request.
func (c *call) undoAll(ctx context.Context, problems []error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	var undone, unsent []int
	for i, a := range c.all {
		sent := !errors.Is(problems[i], network.ErrNotSent)
		switch {
		case sent && (c.fresh[i] || a.State == network.Intended), !sent && !c.fresh[i] && len(c.all) > 1:
			undone = append(undone, i)
		case !sent && c.fresh[i]:
			unsent = append(unsent, i)
		}
	}
	for _, i := range undone {
		if err := c.undo(ctx, c.all[i], c.fresh[i] && errors.Is(problems[i], network.ErrRefused)); err != nil {
			c.options.Report(c.all[i].Owner, fmt.Errorf("undoing an allocation: %w", err))
			return
		}
	}
	preempts := slices.ContainsFunc(c.intents, func(r Request) bool { return r.Preempt })
	for _, i := range unsent {
		quarantine := time.Duration(0)
		if pool, _ := c.pool(c.all[i].Pool); preempts {
			quarantine = pool.Quarantine // the previous owner may still use it
		}
		if err := c.deleteUnchanged(ctx, c.all[i], quarantine); err != nil {
			c.options.Report(c.all[i].Owner, fmt.Errorf("undoing an allocation: %w", err))
		}
	}
}

// undo releases an allocation of a request that failed. A call that was refused has no effect later.
func (s *Service) undo(ctx context.Context, a network.Allocation, refused bool) error {
	released, err := s.update(ctx, a, func(found *network.Allocation) error {
		if a.State == network.Intended && found.State == network.Bound {
			return network.ErrNotHeld // another server has bound it, and returned it to its caller
		}
		if refused {
			found.BindUntil = time.Time{}
		}
		s.markReleasing(found)
		return nil
	})
	if errors.Is(err, network.ErrNotHeld) {
		return nil
	}
	if err == nil {
		s.reconciler.add(released)
	}
	return err
}

// leaveIntents allows any server that receives the request again to continue its intended allocations.
func (c *call) leaveIntents(ctx context.Context) {
	if c.ledger.Server() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	for _, a := range c.all {
		if a.State != network.Intended {
			continue
		}
		_, err := c.update(ctx, a, func(found *network.Allocation) error {
			if found.State == network.Intended && found.Worker == c.ledger.Server() {
				found.Worker = ""
			}
			return nil
		})
		if err != nil && !errors.Is(err, network.ErrNotHeld) {
			c.options.Report(a.Owner, fmt.Errorf("leaving an allocation to other servers: %w", err))
		}
	}
}

// finishRelease unbinds an allocation and removes it. It sends no unbind while an earlier call may still bind the
// allocation: until then the owner may return, and a late unbind would remove its new binding. A release in the
// background has a smaller share of the cloud's calls.
func (s *Service) finishRelease(ctx context.Context, a network.Allocation, background bool) error {
	if a.BindUntil.After(s.options.Clock.Now()) {
		return fmt.Errorf("%w: a call that binds it may take effect until %s", network.ErrUnavailable, a.BindUntil.Format(time.RFC3339))
	}
	if err := s.becomeReleaser(ctx, a); err != nil {
		return err
	}
	if err := s.unbindUnless(ctx, a, background, func() (bool, error) { return s.isReleased(ctx, a) }); err != nil {
		return fmt.Errorf("releasing in the cloud: %w", err)
	}
	pool, err := s.pool(a.Pool)
	if err != nil {
		return err
	}
	return s.deleteUnchanged(ctx, a, pool.Quarantine)
}

// isReleased reports whether a release was finished elsewhere.
func (s *Service) isReleased(ctx context.Context, a network.Allocation) (bool, error) {
	now, err := s.ledger.Get(ctx, a.Owner)
	if errors.Is(err, network.ErrNotHeld) {
		return true, nil
	}
	return err == nil && !sameAllocation(now, a), err
}

// becomeReleaser makes this process the worker of a release, unless another server that holds its lease is.
func (s *Service) becomeReleaser(ctx context.Context, a network.Allocation) error {
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
	_, err = s.update(ctx, a, func(found *network.Allocation) error {
		if found.Worker != a.Worker {
			return network.ErrNotHeld
		}
		found.Worker = s.ledger.Server()
		return nil
	})
	if errors.Is(err, network.ErrNotHeld) {
		return fmt.Errorf("%w: another server has changed it", network.ErrUnavailable)
	}
	return err
}

// unbindUnless calls the cloud to unbind an allocation, unless a condition holds when it is its turn.
func (s *Service) unbindUnless(ctx context.Context, a network.Allocation, background bool, so func() (bool, error)) error {
	of, err := s.backend(a)
	if err != nil || of.Cloud == nil {
		return err
	}
	return s.callCloud(ctx, of, of.Limiter.enqueue(background), func(ctx context.Context) error {
		if is, err := so(); is || err != nil {
			return err
		}
		return of.Cloud.Unbind(ctx, a)
	})
}

// deleteUnchanged removes an allocation unless it was changed: another server may have recorded a cloud call, or the owner may
// have a new one.
func (s *Service) deleteUnchanged(ctx context.Context, a network.Allocation, rest time.Duration) error {
	now := s.options.Clock.Now()
	_, err := s.ledger.ReleaseIf(ctx, a.Owner, now, false, func(found network.Allocation) (time.Time, ledger.Release) {
		if found.State == a.State && sameAllocation(found, a) && (confirmed(a.Binding) || !confirmed(found.Binding)) {
			return now.Add(rest), ledger.Deleted
		}
		return now, ledger.Kept
	})
	return err
}
