// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Allocate works like AllocateAll for one owner. It fails like AllocateAll.
func (s *Service) Allocate(ctx context.Context, r Request) (network.Allocation, error) {
	all, err := s.AllocateAll(ctx, r)
	if err != nil {
		return network.Allocation{}, err
	}
	return all[0], nil
}

// AllocateAll allocates resources for several owners, all or none. An owner with an allocation gets the same again. The
// results have the order of the requests.
//
// The errors are those of ledger.ReserveAll, and network.ErrRefused, ErrBusy, ErrUnavailable and ErrGone. If the
// context ends first, its error is returned; recorded allocations are completed, and a repeated request gets them.
// Nothing is recorded for a caller that disconnected before. A *network.Busy is returned before anything is recorded if
// the cloud could not be called before the deadline. After a permanent error (refused, not sent, taken, exhausted),
// only allocations made before the request remain.
func (s *Service) AllocateAll(ctx context.Context, requests ...Request) ([]network.Allocation, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	c, err := s.newCall(ctx, requests)
	if err != nil {
		return nil, err
	}
	return s.join(ctx, c)
}

// call is one call of AllocateAll.
type call struct {
	*Service
	// deadline is when the cloud must have answered.
	deadline time.Time
	// proceed returns an error if the caller has disconnected.
	proceed func() error
	turns   []*turn
	intents []Request

	all   []network.Allocation
	fresh []bool
}

// margin is the part of the budget, as a divisor, that is reserved for calls that take longer than usual.
const margin = 8

// newCall checks requests.
func (s *Service) newCall(ctx context.Context, requests []Request) (*call, error) {
	now := s.options.Clock.Now()
	c := &call{Service: s, intents: slices.Clone(requests), deadline: now.Add(s.options.Budget - s.options.Budget/margin)}
	if last, ok := ctx.Deadline(); ok && last.Before(c.deadline) {
		c.deadline = last
	}
	c.proceed = func() error {
		if ctx.Err() != nil || s.options.Disconnected(ctx) {
			return network.ErrGone
		}
		return nil
	}
	for i, r := range requests {
		pool, err := s.pool(r.Pool)
		if err != nil || pool.retired {
			return nil, fmt.Errorf("%w %q", network.ErrUnknownPool, r.Pool)
		}
		if r.Arrived.IsZero() {
			c.intents[i].Arrived = now
		}
	}
	return c, nil
}

// join runs a call within its own time limit, even if the caller leaves. Concurrent calls for the same owners share one
// run and its results. It fails like run, or with the error of ctx.
func (s *Service) join(ctx context.Context, c *call) ([]network.Allocation, error) {
	for {
		led := false
		results := s.calls.DoChan(strings.Join(c.keys(), "\n"), func() (any, error) {
			led = true
			done, err := s.work.begin(false)
			if err != nil {
				return nil, err
			}
			defer done()
			defer serving.Hold(ctx)()
			err = s.withBudget(ctx, c.intents[0].Owner, s.options.Budget, c.run)
			return c.all, err
		})
		select {
		case result := <-results:
			switch {
			case !led && (errors.Is(result.Err, network.ErrBusy) || errors.Is(result.Err, network.ErrGone)):
				continue // that holds for the other caller only
			case errors.Is(result.Err, network.ErrGone) && ctx.Err() != nil:
				return nil, ctx.Err()
			case result.Err != nil:
				return nil, result.Err
			case led:
				c.reportCreated()
			}
			all, _ := result.Val.([]network.Allocation)
			return slices.Clone(all), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reportCreated reports to the requests whether they have created their allocation.
func (c *call) reportCreated() {
	for i, r := range c.intents {
		if r.Created != nil {
			*r.Created = c.fresh[i]
		}
	}
}

// keys returns the keys of the owners.
func (c *call) keys() []string {
	keys := make([]string, len(c.intents))
	for i, r := range c.intents {
		keys[i] = r.Owner.String()
	}
	return keys
}

// run performs the steps of an allocation while no other work is done for its owners.
func (c *call) run(ctx context.Context) error {
	unlock, err := c.owners.Lock(ctx, c.keys()...)
	if err != nil {
		return fmt.Errorf("%w: another request for the owner is not finished: %w", network.ErrUnavailable, err)
	}
	defer unlock()
	defer func() { cancelAll(c.turns) }()
	for _, step := range []func(context.Context) error{c.checkDisabled, c.admit, c.reserve, c.bindAll} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether an owner has no allocation, or one that is being released.
func (c *call) isNew(ctx context.Context, owner network.Owner) (bool, error) {
	held, err := c.ledger.Get(ctx, owner)
	if errors.Is(err, network.ErrNotHeld) {
		return true, nil
	}
	return err == nil && held.State == network.Releasing, err
}

// checkDisabled refuses new owners of pools that allocate nothing now.
func (c *call) checkDisabled(ctx context.Context) error {
	for _, r := range c.intents {
		var barred error
		if c.options.Disabled != nil {
			barred = c.options.Disabled(ctx, r.Pool)
		}
		if r.MustHold {
			barred = errors.Join(barred, network.ErrNotHeld)
		}
		if barred == nil {
			continue
		}
		fresh, err := c.isNew(ctx, r.Owner)
		if err != nil {
			return err
		}
		if fresh {
			return barred
		}
	}
	return nil
}

// admit takes places in the queues of the clouds for new owners, or returns a *network.Busy if their turn would come too late.
func (c *call) admit(ctx context.Context) error {
	c.turns = make([]*turn, len(c.intents))
	fresh := map[*Limiter][]int{}
	for i, r := range c.intents {
		pool, err := c.pool(r.Pool)
		if err != nil {
			return err
		}
		if pool.Limiter == nil || pool.Cloud == nil {
			continue
		}
		if isNew, err := c.isNew(ctx, r.Owner); err != nil {
			return err
		} else if isNew {
			fresh[pool.Limiter] = append(fresh[pool.Limiter], i)
		}
	}
	for limiter, of := range fresh {
		given, err := limiter.admit(len(of), c.deadline)
		if err != nil {
			return err
		}
		for i, p := range given {
			c.turns[of[i]] = p
		}
	}
	return nil
}

func cancelAll(turns []*turn) {
	for _, p := range turns {
		p.cancel()
	}
}

// maximumAttempts limits how often an earlier release is finished, or an address taken over, before an attempt.
const maximumAttempts = 9

// reserve records the resources of the owners. It first completes conflicting releases.
func (c *call) reserve(ctx context.Context) error {
	if err := c.completeIntents(); err != nil {
		return err
	}
	var taken error
	for attempt := range maximumAttempts {
		var again bool
		var err error
		if c.all, c.fresh, err = c.ledger.ReserveAll(ctx, c.intents); errors.Is(err, network.ErrTaken) {
			taken = err
			if again, err = c.preemptAll(ctx); !again && err == nil {
				err = taken
			}
		} else if err == nil {
			again, err = c.finishReleases(ctx)
		}
		if err != nil || !again {
			return c.noteExhausted(err)
		}
		if err := c.sleep(ctx, time.Millisecond<<attempt); err != nil {
			return err
		}
	}
	return cmp.Or(taken, fmt.Errorf("%w: other requests changed it first %d times", network.ErrTaken, maximumAttempts))
}

// completeIntents sets the fields of the intents that the service sets.
func (c *call) completeIntents() error {
	now := c.options.Clock.Now()
	state := network.Bound
	if len(c.intents) > c.ledger.LargestRequest() {
		state = network.Intended // it is recorded by several commits
	}
	for i := range c.intents {
		in := &c.intents[i]
		pool, err := c.pool(in.Pool)
		if err != nil {
			return err
		}
		in.Cloud, in.Now, in.Proceed = pool.CloudName, now, c.proceed
		if pool.Cloud != nil {
			state = network.Intended
		}
	}
	for i := range c.intents {
		c.intents[i].State = state
		c.intents[i].Grouped = state == network.Intended && len(c.intents) > 1
	}
	return nil
}

// finishReleases finishes releases of owners that allocate again, and reports whether any existed; it reserves nothing.
func (c *call) finishReleases(ctx context.Context) (some bool, err error) {
	for i, a := range c.all {
		if a.State != network.Releasing {
			continue
		}
		some = true
		if canceled, err := c.cancelRelease(ctx, i, a); err != nil {
			return some, err
		} else if canceled {
			continue
		}
		if err := c.finishInTime(ctx, a); err != nil {
			return some, fmt.Errorf("%w: an earlier release is not finished: %w", network.ErrUnavailable, err)
		}
	}
	return some, nil
}

// finishInTime works like finishRelease. It first waits until no earlier call can bind the allocation, if that is
// before the deadline.
func (c *call) finishInTime(ctx context.Context, a network.Allocation) error {
	if now := c.options.Clock.Now(); a.BindUntil.After(now) && a.BindUntil.Before(c.deadline) {
		select {
		case <-c.options.Clock.After(a.BindUntil.Sub(now) + time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c.finishRelease(ctx, a, false)
}

// cancelRelease turns a release into an intent if its owner requests the same resources while calls may still bind
// them: the cloud treats such a call and the next one as the same, and no unbind has been sent.
func (c *call) cancelRelease(ctx context.Context, i int, a network.Allocation) (canceled bool, err error) {
	in := c.intents[i]
	same := a.Pool == in.Pool && a.Trunk == in.Trunk && !slices.ContainsFunc(in.Addresses, func(address netip.Addr) bool {
		return !slices.Contains(a.Addresses, address)
	})
	if !same || in.MustHold || !a.BindUntil.After(c.options.Clock.Now()) || len(in.Addresses) > 0 && len(in.Addresses) != len(a.Addresses) {
		return false, nil
	}
	if err := c.becomeReleaser(ctx, a); err != nil {
		return false, err
	}
	if err := c.proceed(); err != nil {
		return false, err
	}
	_, err = c.update(ctx, a, func(found *network.Allocation) error {
		if found.State != network.Releasing {
			return network.ErrNotHeld
		}
		found.State, found.Worker, found.Binding, found.Holder, found.Answered = network.Intended, c.ledger.Server(), network.Binding{}, in.Holder, false
		found.Together, found.Request = network.Owner{}, 0 // the reservation includes it in the request
		return nil
	})
	if errors.Is(err, network.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// preemptAll releases the allocations whose addresses the requests take over, and reports whether a request takes over
// any. It skips an address without an owner, which was released in the meantime or is in quarantine.
func (c *call) preemptAll(ctx context.Context) (some bool, err error) {
	for _, r := range c.intents {
		if !r.Preempt {
			continue
		}
		some = len(r.Addresses) > 0 || some
		for _, address := range r.Addresses {
			held, err := c.ledger.ByAddress(ctx, r.Pool, address)
			switch {
			case errors.Is(err, network.ErrNotHeld), err == nil && held.Owner == r.Owner:
				continue
			case err != nil:
				return false, err
			}
			if err := c.mayPreempt(r, held, address); err != nil {
				return false, err
			}
			if err := c.preempt(ctx, held, address); err != nil {
				return false, fmt.Errorf("%w: the previous allocation of %s is not released: %w", network.ErrUnavailable, address, err)
			}
		}
	}
	return some, nil
}

func (c *call) mayPreempt(r Request, held network.Allocation, address netip.Addr) error {
	if held.Owner.Contract != r.Owner.Contract {
		return fmt.Errorf("%w: %s is held under another contract", network.ErrTaken, address)
	}
	if slices.ContainsFunc(c.intents, func(other Request) bool { return other.Owner == held.Owner }) {
		return fmt.Errorf("%w: %s is held by another owner of the same request", network.ErrTaken, address)
	}
	return c.proceed()
}

// preempt releases another owner's allocation if it still has the address. It waits for running work on that owner only
// for a part of the available time, because that work may itself wait for an address of this request.
func (c *call) preempt(ctx context.Context, held network.Allocation, address netip.Addr) error {
	locking, cancel := context.WithTimeout(ctx, c.options.Budget/margin)
	defer cancel()
	unlock, err := c.owners.Lock(locking, held.Owner.String())
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.proceed(); err != nil {
		return err
	}
	marked, err := c.ledger.Update(ctx, held.Owner, func(a *network.Allocation) error {
		if !slices.Contains(a.Addresses, address) || a.Pool != held.Pool {
			return network.ErrNotHeld
		}
		if a.State != network.Releasing {
			c.markReleasing(a)
		}
		return nil
	})
	if errors.Is(err, network.ErrNotHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.finishInTime(ctx, marked); err != nil {
		c.reconciler.add(marked)
		return err
	}
	return nil
}
