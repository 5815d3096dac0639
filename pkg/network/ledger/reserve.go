// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Intent is a request of an owner. Callers of package service set the fields up to Created, and the service the rest.
type Intent struct {
	Owner network.Owner
	Pool  string
	// Addresses are the requested addresses. For every other family of the pool, an address is selected.
	Addresses []netip.Addr
	// Families limits the families that are chosen, by their length in bits; nil means all of the pool.
	Families []int
	// PreviousOwner names the previous owner of the same contract with addresses that may be requested during their quarantine.
	// With a trailing slash, it is a prefix of such owners' keys. Empty permits none, not even the owner itself.
	PreviousOwner string
	// Preempt allows every address in quarantine that an owner of the same contract had. The service also takes a requested address from
	// another owner of the contract, because the caller manages the addresses.
	Preempt bool
	Trunk   network.Trunk
	Holder  network.Holder
	Quotas  []Quota
	// MustHold refuses an owner that holds nothing with network.ErrNotHeld, since the caller has skipped checks for new owners.
	MustHold bool
	// Arrived is when the request arrived; zero means Now.
	Arrived time.Time
	// Created is set by the service if this request has made the allocation; nil is ignored.
	Created *bool
	// Grouped marks the allocations of a request for several owners, which become bound together.
	Grouped bool
	// Together and Request are the fields of the allocation if it replaces one of such a request.
	Together network.Owner
	Request  uint64
	// Cloud is the name of the cloud that will be called; empty if none is.
	Cloud string
	// State is Intended, or Bound if no cloud is called.
	State network.State
	// Now is the time of the choice.
	Now time.Time
	// Proceed is called directly before each commit; its error ends the reservation. Nil always proceeds.
	Proceed func() error
}

// Reserve works like ReserveAll for one owner. It fails like ReserveAll.
func (l *Ledger) Reserve(ctx context.Context, in Intent) (a network.Allocation, fresh bool, err error) {
	all, made, err := l.ReserveAll(ctx, []Intent{in})
	if err != nil {
		return network.Allocation{}, false, err
	}
	return all[0], made[0], nil
}

// ReserveAll reserves resources for several owners, all or none. The results have the order of the intents; fresh
// reports the owners without an earlier allocation. An owner with an allocation gets the same again. While one of them
// is being released, nothing is reserved, and the other results are empty. The errors wrap network.ErrUnknownPool,
// ErrOutside, ErrTaken, ErrQuota, ErrExhausted or ErrReleased.
//
// Grouped intents form one request: new rows and intended ones of earlier requests get a common number. Rows that do not
// fit into one commit of the store are written in several.
func (l *Ledger) ReserveAll(ctx context.Context, intents []Intent) (all []network.Allocation, fresh []bool, err error) {
	if err := validate(intents); err != nil {
		return nil, nil, err
	}
	l.changing.RLock()
	defer l.changing.RUnlock()
	err = retry(ctx, func(number int) error {
		r := &reservation{Ledger: l, intents: intents, attempt: number}
		err := r.run(ctx)
		all, fresh = r.all, r.fresh
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return all, fresh, nil
}

// validate checks that the owners differ and that their rows can be read again.
func validate(intents []Intent) error {
	seen := map[network.Owner]bool{}
	for _, in := range intents {
		if !in.Owner.Valid() {
			return fmt.Errorf("%q is not an owner", in.Owner)
		}
		if strings.Contains(in.Trunk.Node+in.Trunk.MAC, "/") {
			return errors.New("the trunk has a slash in its names")
		}
		if seen[in.Owner] {
			return fmt.Errorf("the request has two allocations for the owner %s", in.Owner)
		}
		seen[in.Owner] = true
	}
	return nil
}

// reservation is one attempt of ReserveAll.
type reservation struct {
	*Ledger
	intents []Intent
	attempt int

	all   []network.Allocation
	fresh []bool
	// rows has the rows of the owners with an allocation, as they were read.
	rows [][]byte
	// assumed reports that owners were taken for new without a read.
	assumed bool
	// chosen are the keys of resources that were marked as used in the hints.
	chosen []string
	// commits have the changes of each commit. A row that several owners change, such as a quota, is in a commit once.
	commits [][]Change
}

// run performs the steps of a reservation.
func (r *reservation) run(ctx context.Context) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(r.all, func(a network.Allocation) bool { return a.State == network.Releasing }) {
		r.fresh = make([]bool, len(r.all))
		return nil
	}
	written, err := r.write(ctx)
	if err != nil && written > 0 {
		err = errors.Join(err, r.undo(context.WithoutCancel(ctx)))
	}
	if err != nil {
		_ = r.refresh(ctx, r.chosen...)
	}
	if err != nil && r.assumed {
		return ErrConflict // an owner may have the conflicting resource; the next attempt reads the rows
	}
	return err
}

// read reads the allocations of the owners, and completes intended ones of an earlier request that was being completed. The first attempt
// on a shared store reads nothing, because most owners are new and the commit detects all others.
func (r *reservation) read(ctx context.Context) error {
	r.all, r.fresh, r.rows = make([]network.Allocation, len(r.intents)), make([]bool, len(r.intents)), make([][]byte, len(r.intents))
	r.assumed = r.attempt == 0 && r.Shared()
	for i, in := range r.intents {
		if r.fresh[i] = r.assumed; r.assumed {
			continue
		}
		a, raw, err := find(ctx, r.store, in.Owner)
		if r.fresh[i] = errors.Is(err, network.ErrNotHeld); r.fresh[i] {
			continue
		}
		completed := false
		if err == nil && a.State == network.Intended && in.Grouped {
			completed, err = r.Completed(ctx, a)
		}
		if err == nil && completed {
			a, err = r.Update(ctx, a.Owner, func(a *network.Allocation) error { CompleteRequest(a); return nil })
		}
		if errors.Is(err, network.ErrNotHeld) {
			return ErrConflict
		} else if err != nil {
			return err
		}
		r.all[i], r.rows[i] = a, raw
	}
	return nil
}

// conflicts returns the number of failed attempts that had read the owners' allocations.
func (r *reservation) conflicts() int {
	if r.Shared() {
		return max(0, r.attempt-1)
	}
	return r.attempt
}

// Completed reports whether the first allocation of an intended one's request is bound, so that the remaining ones must
// be bound as well. It fails if the store does.
func (l *Ledger) Completed(ctx context.Context, a network.Allocation) (bool, error) {
	if a.Together == (network.Owner{}) || a.Together == a.Owner {
		return false, nil
	}
	first, err := l.Get(ctx, a.Together)
	if errors.Is(err, network.ErrNotHeld) {
		return false, nil
	}
	return err == nil && first.State == network.Bound && first.Request == a.Request && a.Request != 0, err
}

// CompleteRequest makes an allocation bound. It clears the request, unless the allocation is the first one.
func CompleteRequest(a *network.Allocation) {
	if a.State == network.Intended {
		a.State = network.Bound
	}
	if a.State == network.Bound {
		if a.Together != a.Owner {
			a.Request = 0
		}
		a.Together, a.Worker = network.Owner{}, ""
	}
}

// choose chooses for the new owners and prepares the commits.
func (r *reservation) choose(ctx context.Context) error {
	first, number := network.Owner{}, r.generation()
	for i, in := range r.intents {
		if r.fresh[i] && in.MustHold {
			return network.ErrNotHeld
		}
		if first == (network.Owner{}) && (r.fresh[i] || r.all[i].State == network.Intended) {
			first = in.Owner
		}
	}
	counts := map[string][]byte{}
	for i, in := range r.intents {
		if !r.fresh[i] && (r.all[i].State != network.Intended || !in.Grouped) {
			continue
		}
		var changes []Change
		if r.fresh[i] {
			var err error
			if changes, err = r.chooseOne(ctx, i, in, counts); err != nil {
				return err
			}
		}
		a := &r.all[i]
		if in.Grouped {
			a.Together, a.Request = first, number
		}
		raw, err := encode(*a)
		if err != nil {
			return err
		}
		r.add(append([]Change{{Key: ownerKey(in.Owner), Was: r.rows[i], Value: raw}}, changes...))
	}
	return nil
}

// LargestRequest returns the number of owners that certainly fit into one commit.
func (l *Ledger) LargestRequest() int {
	const rows = 8 // of an owner: its own, two addresses, VLAN, MAC address, tombstone, and some quotas
	return max(1, atMost(l.store, math.MaxInt)/rows)
}

// add puts the changes of an owner into the last commit if they fit.
func (r *reservation) add(changes []Change) {
	last := len(r.commits) - 1
	if last < 0 || len(r.commits[last])+len(changes) > atMost(r.store, math.MaxInt) {
		r.commits, last = append(r.commits, nil), last+1
	}
	for _, change := range changes {
		at := -1
		if strings.HasPrefix(change.Key, prefixQuota) {
			at = slices.IndexFunc(r.commits[last], func(other Change) bool { return other.Key == change.Key })
		}
		if at >= 0 {
			r.commits[last][at].Value = change.Value
		} else {
			r.commits[last] = append(r.commits[last], change)
		}
	}
}

// write chooses resources and writes all commits, while no other request of this process changes the same quotas. It returns the number of
// commits that were made before one failed.
func (r *reservation) write(ctx context.Context) (written int, err error) {
	unlock, err := r.quotas.Lock(ctx, quotaKeys(r.intents)...)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := r.choose(ctx); err != nil {
		return 0, err
	}
	for i, changes := range r.commits {
		err := r.proceed()
		if err == nil {
			err = r.commit(ctx, changes...)
		}
		if err != nil {
			return i, err
		}
	}
	return len(r.commits), nil
}

// undo deletes the new allocations as far as they were written, without a quarantine. It locks their quotas.
func (r *reservation) undo(ctx context.Context) error {
	for i, a := range r.all {
		if !r.fresh[i] {
			continue
		}
		_, err := r.ReleaseIf(ctx, a.Owner, a.Since, false, func(found network.Allocation) (time.Time, Release) {
			if found.Generation != a.Generation {
				return a.Since, Kept
			}
			return a.Since, Deleted
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reservation) proceed() error {
	for _, in := range r.intents {
		if in.Proceed == nil {
			continue
		}
		if err := in.Proceed(); err != nil {
			return err
		}
	}
	return nil
}

// Next returns a free address of a part of a pool without reserving it, and the following one at the next call. The errors
// wrap network.ErrUnknownPool, ErrOutside if no address of the part is selectable, and ErrExhausted.
func (l *Ledger) Next(ctx context.Context, name string, within netip.Prefix) (netip.Addr, error) {
	address, err := l.next(name, within)
	if err == nil {
		return address, nil
	}
	if uncertain, settling := l.resolveUncertain(ctx); settling != nil || !uncertain {
		return address, err
	}
	return l.next(name, within)
}

func (l *Ledger) next(name string, within netip.Prefix) (netip.Addr, error) {
	l.hints.mutex.Lock()
	defer l.hints.mutex.Unlock()
	of := l.hints.pools[name]
	if of == nil {
		return netip.Addr{}, fmt.Errorf("%w %q", network.ErrUnknownPool, name)
	}
	addresses := netipx.RangeOfPrefix(within)
	first, last := addresses.From(), addresses.To()
	at := of.family(within.Addr())
	if at < 0 || !of.indexes[at].Gives(first, last) {
		return netip.Addr{}, fmt.Errorf("%w: the pool %s chooses no addresses of %s", network.ErrOutside, name, within)
	}
	address, ok := of.indexes[at].Next(first, last)
	if !ok {
		return address, noAddress(name, within)
	}
	return address, nil
}
