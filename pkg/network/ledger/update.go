// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Update changes what an owner holds: its state, and what the cloud needs. The addresses, the VLAN and the MAC address must
// stay; addresses that a cloud has chosen may be added, also such that rest. The error wraps network.ErrNotHeld when the owner holds nothing, and
// network.ErrTaken when an added address is held already.
func (l *Ledger) Update(ctx context.Context, owner network.Owner, change func(*network.Allocation) error) (network.Allocation, error) {
	all, err := l.UpdateAll(ctx, change, owner)
	return all[0], err
}

// UpdateAll is Update of what several owners hold, each another one: all of it in one commit, or nothing. The results are in the order of the owners.
func (l *Ledger) UpdateAll(ctx context.Context, change func(*network.Allocation) error, owners ...network.Owner) ([]network.Allocation, error) {
	defer l.owners.lock(owners...)()
	var rested map[string][]byte
	for range maximumAttempts {
		u := updates{all: make([]network.Allocation, len(owners)), raw: make([][]byte, len(owners)), rested: rested}
		for i, owner := range owners {
			if err := u.add(ctx, l, i, owner, change); err != nil {
				return u.all, err
			}
		}
		if len(u.changes) == 0 {
			return u.all, nil
		}
		err := l.commit(ctx, u.changes...)
		for i, raw := range u.raw {
			if raw != nil {
				l.remember(u.all[i], raw, err)
			}
		}
		switch {
		case err == nil:
			return u.all, nil
		case !errors.Is(err, ErrConflict):
			l.doubtAll(u.added...)
			return u.all, wrapWriting(err)
		}
		if rested, err = l.vacant(ctx, u.added); err != nil {
			return u.all, err
		}
	}
	return make([]network.Allocation, len(owners)), fmt.Errorf("%w: others were quicker %d times", network.ErrTaken, maximumAttempts)
}

// updates are what owners will hold, the rows of those that change, and the changes; added are the keys of places that they do not hold yet, and rested the
// rows of those of them that rest.
type updates struct {
	all     []network.Allocation
	raw     [][]byte
	changes []Change
	added   []string
	rested  map[string][]byte
}

// add changes what an owner holds.
func (u *updates) add(ctx context.Context, l *Ledger, i int, owner network.Owner, change func(*network.Allocation) error) error {
	a, raw, err := l.get(ctx, owner)
	if err != nil {
		u.all[i] = a
		return err
	}
	before := places(a)
	err = change(&a)
	u.all[i] = a
	if err != nil {
		return err
	}
	added, err := grown(before, places(a))
	if err != nil {
		return err
	}
	changed, err := encode(a)
	if err != nil || slices.Equal(changed, raw) {
		return err
	}
	u.raw[i] = changed
	u.changes = append(u.changes, Change{Key: ownerKey(owner), Was: raw, Value: changed})
	for _, key := range added {
		u.changes = append(u.changes, Change{Key: key, Was: u.rested[key], Value: place{owner: owner}.encode()})
	}
	u.added = append(u.added, added...)
	return nil
}

// grown are the places that were added to some; the error says that one is gone.
func grown(before, after []string) ([]string, error) {
	for _, key := range before {
		if !slices.Contains(after, key) {
			return nil, errors.New("an update must not change what is held")
		}
	}
	return slices.DeleteFunc(after, func(key string) bool { return slices.Contains(before, key) }), nil
}

// vacant says whether nobody has one of the places; the error wraps network.ErrTaken. The rows of those that rest are given: their rest ends,
// as it is the cloud that chooses, and it has seen the release.
func (l *Ledger) vacant(ctx context.Context, keys []string) (map[string][]byte, error) {
	rested := map[string][]byte{}
	for _, key := range keys {
		raw, err := l.store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		if raw == nil {
			continue
		}
		if p, err := parsePlace(raw); err != nil || p.until.IsZero() {
			_, address, _ := parseAddress(key)
			return nil, fmt.Errorf("%w: %s, which the cloud has chosen", network.ErrTaken, address)
		}
		rested[key] = raw
	}
	return rested, nil
}
