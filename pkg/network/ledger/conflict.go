// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// resolveAll finds out whose rows stood in the way of a commit, for all that was chosen, and forgets the choice.
func (l *Ledger) resolveAll(ctx context.Context, intents []Intent, all []network.Allocation, fresh []bool) error {
	var refused error
	for i, in := range intents {
		if !fresh[i] {
			continue
		}
		if err := l.resolve(ctx, in, all[i]); err != nil && refused == nil {
			refused = err
		}
	}
	return refused
}

// resolve finds out whose rows stood in the way. What others hold stays taken in memory; the rest of the choice is free again.
// The error is of an address that was asked for by name, or of a store that cannot say.
func (l *Ledger) resolve(ctx context.Context, in Intent, a network.Allocation) error {
	l.mutex.Lock()
	l.quotas.refuse(a.Owner)
	l.restOn(places(a)...)
	l.doubt(places(a)...)
	number := l.doubted
	l.mutex.Unlock()
	var refused error
	for _, key := range places(a) {
		raw, err := l.store.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		if err := l.learn(key, number, raw); err != nil {
			return err
		}
		if raw == nil || bytes.Equal(raw, place{owner: in.Owner}.encode()) {
			continue // another server has given it to the same owner: that is found next
		}
		for _, address := range in.Addresses {
			if key == addressKey(in.Pool, address) {
				refused = fmt.Errorf("%w: %s", network.ErrTaken, address)
				if p, err := parsePlace(raw); err == nil && !p.until.IsZero() {
					if refused = takenAtRest(address, p.until); in.had(p.owner) {
						refused = nil // it is given again, once that is known
					}
				}
			}
		}
	}
	return refused
}

// inDoubt finds out whether a commit that failed was made all the same. When that cannot be found out, what was chosen stays
// taken in memory: it is given to nobody else before the store can say.
func (l *Ledger) inDoubt(ctx context.Context, intents []Intent, chosen []network.Allocation, fresh []bool, cause error) ([]network.Allocation, []bool, error) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	found, missing, err := l.held(ctx, intents)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, a := range chosen {
		switch {
		case !fresh[i]:
		case err == nil && missing[i] && l.shared != nil:
			// Another server may have taken some of it meanwhile, and that may have been told already.
			l.quotas.refuse(a.Owner)
			l.restOn(places(a)...)
			l.doubt(places(a)...)
		case err == nil && missing[i]:
			l.drop(a)
		case err != nil || !slices.Equal(places(a), places(found[i])):
			l.restOn(places(a)...)
			l.doubt(rowsOf(a)...)
		default:
			l.written(a)
		}
	}
	if err == nil && !slices.Contains(missing, true) {
		return found, fresh, nil
	}
	return nil, nil, fmt.Errorf("writing the ledger: %w", cause)
}
