// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Forget takes everything from an owner. What was held rests until the time (or the next full second), when it is in the future of now, and is
// free again after. An owner that holds nothing is no error.
func (l *Ledger) Forget(ctx context.Context, owner network.Owner, now, until time.Time) error {
	_, err := l.ForgetIf(ctx, owner, now, func(network.Allocation) (time.Time, bool) { return until, true })
	return err
}

// ForgetIf is Forget of what an owner holds when is says so, and until when it then rests; it may be asked several times. Left is what stays, as is does
// not say so.
func (l *Ledger) ForgetIf(
	ctx context.Context, owner network.Owner, now time.Time, is func(network.Allocation) (until time.Time, forget bool),
) (left *network.Allocation, err error) {
	defer l.owners.lock(owner)()
	// Of a shared store it need not be read what this server wrote last: if another one has changed it, the commit finds out.
	last, hinted := l.recent.find(owner)
	for range maximumAttempts {
		a, raw := last.allocation, last.raw
		if !hinted {
			if a, raw, err = l.get(ctx, owner); errors.Is(err, network.ErrNotHeld) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
		}
		until, forget := is(a)
		if !forget {
			if hinted && l.shared != nil {
				hinted = false
				continue
			}
			return &a, nil
		}
		err := l.commit(ctx, removal(a, raw, now, until)...)
		l.recent.drop(owner)
		if hinted = false; errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			l.doubtAll(rowsOf(a)...)
		}
		return nil, wrapWriting(err)
	}
	return nil, fmt.Errorf("%w: others were quicker %d times", network.ErrTaken, maximumAttempts)
}

// removal are the changes that take an allocation, whose row is given, from its owner, and let what was held rest where the time is in the future.
func removal(a network.Allocation, raw []byte, now, until time.Time) []Change {
	held := places(a)
	changes := append(make([]Change, 0, 1+len(held)), Change{Key: ownerKey(a.Owner), Was: raw})
	owned := place{owner: a.Owner}.encode()
	var value []byte
	if until.After(now) {
		value = place{owner: a.Owner, until: wholeSecond(until)}.encode()
	}
	for _, key := range held {
		changes = append(changes, Change{Key: key, Was: owned, Value: value})
	}
	return changes
}

// Rouse frees an address that rests, before its time, and says whether it rested. One that does not rest stays as it is. Where an owner of another contract
// had it, it rests on, and the error wraps network.ErrTaken.
func (l *Ledger) Rouse(ctx context.Context, contract, pool string, address netip.Addr) (rested bool, err error) {
	row, err := l.rests(ctx, addressKey(pool, address), func(row rest) error {
		if last := row.last.Contract; last != "" && last != contract {
			return takenAtRest(address, row.until)
		}
		return nil
	})
	if err != nil || row.until.IsZero() {
		return false, err
	}
	if err := l.wake(ctx, []rest{row}); err != nil {
		return true, err
	}
	_, err = l.settle(ctx)
	return true, err
}

// Rest lets an address that is free rest until the time (or the next full second). One that somebody holds, or that rests, stays as it is.
func (l *Ledger) Rest(ctx context.Context, pool string, address netip.Addr, until time.Time) error {
	err := l.commit(ctx, Change{Key: addressKey(pool, address), Value: place{until: wholeSecond(until)}.encode()})
	if errors.Is(err, ErrConflict) {
		return nil
	}
	if err != nil {
		l.suspect(pool, address)
	}
	return wrapWriting(err)
}

// wholeSecond is a time or the next full second: rows have seconds, and what rests must not rest shorter.
func wholeSecond(until time.Time) time.Time {
	if whole := until.Truncate(time.Second); whole.Before(until) {
		return whole.Add(time.Second)
	}
	return until
}

// rests is a row that rests, and that is being woken from then on; the zero one when it does not rest, or is being woken already. Another server may have
// let it rest just now. One that may not be woken rests on, and the error is that of may.
func (l *Ledger) rests(ctx context.Context, key string, may func(rest) error) (row rest, err error) {
	l.mutex.Lock()
	row, known := l.resting.at(key)
	if known {
		if err = may(row); err == nil {
			l.resting.waking[key] = struct{}{}
		}
	}
	l.mutex.Unlock()
	if known || l.shared == nil {
		return row, err
	}
	raw, err := l.store.Get(ctx, key)
	if err != nil {
		return rest{}, fmt.Errorf("reading the ledger: %w", err)
	}
	if p, err := parsePlace(raw); err == nil && !p.until.IsZero() {
		row = rest{key: key, until: p.until, due: p.until, last: p.owner}
		return row, may(row)
	}
	return rest{}, nil
}

// Wake frees what has rested until now, and says how many rows that are. It also finds out what a lost answer has left in doubt.
func (l *Ledger) Wake(ctx context.Context, now time.Time) (int, error) {
	for freed := 0; ; {
		l.mutex.Lock()
		due := l.resting.take(now, Batch(l.store))
		l.mutex.Unlock()
		if len(due) == 0 {
			_, err := l.settle(ctx)
			return freed, err
		}
		if err := l.wake(ctx, due); err != nil {
			return freed, err
		}
		freed += len(due)
	}
}

// wake removes rows that rest. One that is not as it was is in doubt: it was removed, or given out again, by another server or by a commit of
// which the answer was lost. After an error all of them rest on, but those of which something newer was told meanwhile.
func (l *Ledger) wake(ctx context.Context, rows []rest) error {
	changes := make([]Change, len(rows))
	for i, row := range rows {
		changes[i] = Change{Key: row.key, Was: row.row()}
	}
	err := l.commit(ctx, changes...)
	for range maximumAttempts {
		if !errors.Is(err, ErrConflict) {
			break
		}
		if changes, err = l.unchanged(ctx, changes); err == nil && len(changes) > 0 {
			err = l.commit(ctx, changes...)
		}
	}
	if err != nil {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		for _, row := range rows {
			l.resting.putBack(row)
		}
	}
	return wrapWriting(err)
}

// unchanged are those of the changes whose rows are as they expect; the others are in doubt.
func (l *Ledger) unchanged(ctx context.Context, changes []Change) ([]Change, error) {
	var same []Change
	for _, change := range changes {
		raw, err := l.store.Get(ctx, change.Key)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(raw, change.Was) {
			same = append(same, change)
		} else {
			l.doubtAll(change.Key)
		}
	}
	return same, nil
}

func wrapWriting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the ledger: %w", err)
}
