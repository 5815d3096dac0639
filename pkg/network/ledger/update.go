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
	defer l.owners.lock(owner)()
	var rested map[string][]byte
	for range maximumAttempts {
		a, raw, err := l.get(ctx, owner)
		if err != nil {
			return a, err
		}
		before := places(a)
		if err := change(&a); err != nil {
			return a, err
		}
		added, err := grown(before, places(a))
		if err != nil {
			return a, err
		}
		changed, err := encode(a)
		if err != nil {
			return a, err
		}
		if slices.Equal(changed, raw) {
			return a, nil
		}
		changes := []Change{{Key: ownerKey(owner), Was: raw, Value: changed}}
		for _, key := range added {
			changes = append(changes, Change{Key: key, Was: rested[key], Value: place{owner: owner}.encode()})
		}
		err = l.commit(ctx, changes...)
		l.remember(a, changed, err)
		switch {
		case err == nil:
			return a, nil
		case !errors.Is(err, ErrConflict):
			l.doubtAll(added...)
			return a, wrapWriting(err)
		}
		if rested, err = l.vacant(ctx, added); err != nil {
			return a, err
		}
	}
	return network.Allocation{}, fmt.Errorf("%w: others were quicker %d times", network.ErrTaken, maximumAttempts)
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
