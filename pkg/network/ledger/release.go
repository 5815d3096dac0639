// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Release is the effect of a release on an allocation.
type Release int

// Kept leaves it, Marked changes its state to Releasing, and Deleted removes it.
const (
	Kept Release = iota
	Marked
	Deleted
)

// Delete deletes the allocation of an owner. Its resources are in quarantine until the time until, rounded up to a
// second, if that is after now. Delete does nothing for an owner without an allocation. It fails if the store does.
func (l *Ledger) Delete(ctx context.Context, owner network.Owner, now, until time.Time) error {
	_, err := l.ReleaseIf(ctx, owner, now, false, func(network.Allocation) (time.Time, Release) { return until, Deleted })
	return err
}

// ReleaseIf releases an owner's allocation as the function decides, which also returns the end of the quarantine and may
// be called several times. With tombstone, the same commit writes the owner's tombstone, even without an allocation, so that
// older requests are refused; it writes nothing if the function returns Kept. It returns the remaining allocation. It
// fails if the store or the function does.
func (l *Ledger) ReleaseIf(
	ctx context.Context, owner network.Owner, now time.Time, tombstone bool, decide func(network.Allocation) (until time.Time, what Release),
) (left *network.Allocation, err error) {
	if !owner.Valid() {
		return nil, fmt.Errorf("%q is not an owner", owner)
	}
	err = retry(ctx, func(int) error {
		left = nil
		a, raw, err := find(ctx, l.store, owner)
		if errors.Is(err, network.ErrNotHeld) {
			if !tombstone {
				return nil
			}
			return l.commit(ctx, l.tombstoneChange(owner, now))
		}
		if err != nil {
			return err
		}
		until, what := decide(a)
		var changes []Change
		switch what {
		case Kept:
			left = &a
			return nil
		case Marked:
			a.State, a.Worker = network.Releasing, l.Server()
			marked, err := encode(a)
			if err != nil {
				return err
			}
			left, changes = &a, []Change{{Key: ownerKey(owner), Was: raw, Value: marked}}
		case Deleted:
			unlock, err := l.quotas.Lock(ctx, quotaKeysOf(a)...)
			if err != nil {
				return err
			}
			defer unlock()
			if changes, err = l.deletion(ctx, a, raw, now, until); err != nil {
				return err
			}
		}
		if tombstone {
			changes = append(changes, l.tombstoneChange(owner, now))
		}
		return l.commit(ctx, changes...)
	})
	return left, err
}

// tombstoneChange returns the change that writes an owner's tombstone.
func (l *Ledger) tombstoneChange(owner network.Owner, now time.Time) Change {
	row, _ := l.hints.tombstone(owner)
	return Change{Key: tombstoneKey(owner), Was: row, Value: tombstone(now)}
}

// deletion returns the changes that remove an allocation with its row.
func (l *Ledger) deletion(ctx context.Context, a network.Allocation, raw []byte, now, until time.Time) ([]Change, error) {
	changes := []Change{{Key: ownerKey(a.Owner), Was: raw}}
	owned := resourceRow{owner: a.Owner}.encode()
	var value []byte
	if until.After(now) {
		value = resourceRow{owner: a.Owner, until: wholeSecond(until)}.encode()
	}
	for _, key := range resourceKeys(a) {
		changes = append(changes, Change{Key: key, Was: owned, Value: value})
	}
	for _, key := range quotaKeysOf(a) {
		was, err := l.store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		n, err := parseCount(key, was)
		if err != nil {
			return nil, err
		}
		changes = append(changes, Change{Key: key, Was: was, Value: formatCount(n - 1)})
	}
	return changes, nil
}

// wholeSecond returns a time or the next full second: rows have seconds, and a quarantine must not be shorter.
func wholeSecond(until time.Time) time.Time {
	if whole := until.Truncate(time.Second); whole.Before(until) {
		return whole.Add(time.Second)
	}
	return until
}

// Update changes the state and the binding of an allocation. Its resources must stay; addresses selected by a cloud may
// be added, even during their quarantine. The error wraps network.ErrNotHeld if there is no allocation, and
// network.ErrTaken if an added address is in use.
func (l *Ledger) Update(ctx context.Context, owner network.Owner, change func(*network.Allocation) error) (network.Allocation, error) {
	all, err := l.UpdateAll(ctx, change, owner)
	return all[0], err
}

// UpdateAll works like Update for several owners, all in one commit or none. If the store cannot commit so many rows,
// it updates the owners in their order in several commits. The results have the order of the owners.
func (l *Ledger) UpdateAll(ctx context.Context, change func(*network.Allocation) error, owners ...network.Owner) ([]network.Allocation, error) {
	all := make([]network.Allocation, len(owners))
	limit := atMost(l.store, len(owners))
	for from := 0; from < len(owners); from += limit {
		err := retry(ctx, func(int) error {
			var changes []Change
			for i, owner := range owners[from:min(from+limit, len(owners))] {
				a, made, err := l.update(ctx, owner, change)
				if all[from+i] = a; err != nil {
					return err
				}
				changes = append(changes, made...)
			}
			if len(changes) == 0 {
				return nil
			}
			return l.commit(ctx, changes...)
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// update returns the changed allocation of an owner, and the changes that write it: none if it is as before.
func (l *Ledger) update(ctx context.Context, owner network.Owner, change func(*network.Allocation) error) (network.Allocation, []Change, error) {
	a, raw, err := find(ctx, l.store, owner)
	if err != nil {
		return a, nil, err
	}
	before := resourceKeys(a)
	if err := change(&a); err != nil {
		return a, nil, err
	}
	changed, err := encode(a)
	if err != nil || slices.Equal(changed, raw) {
		return a, nil, err
	}
	changes := []Change{{Key: ownerKey(owner), Was: raw, Value: changed}}
	after := resourceKeys(a)
	for _, key := range before {
		if !slices.Contains(after, key) {
			return a, nil, errors.New("an update must not change held resources")
		}
	}
	for _, key := range after {
		if slices.Contains(before, key) {
			continue
		}
		was, err := l.freeRow(ctx, key)
		if err != nil {
			return a, nil, err
		}
		changes = append(changes, Change{Key: key, Was: was, Value: resourceRow{owner: owner}.encode()})
	}
	return a, changes, nil
}

// freeRow returns the row of a free resource. It may be in quarantine, because a cloud that selects it has processed the
// release.
func (l *Ledger) freeRow(ctx context.Context, key string) ([]byte, error) {
	raw, err := l.store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if p, err := parseResourceRow(raw); raw != nil && (err != nil || p.until.IsZero()) {
		_, address, _ := parseAddress(key)
		return nil, fmt.Errorf("%w: %s, which the cloud has chosen", network.ErrTaken, address)
	}
	return raw, nil
}
