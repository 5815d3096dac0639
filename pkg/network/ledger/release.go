// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Forget takes everything from an owner. What was held rests until the time, when it is in the future of now, and is free again
// after. An owner that holds nothing is no error.
func (l *Ledger) Forget(ctx context.Context, owner network.Owner, now, until time.Time) error {
	defer l.owners.lock(ownerKey(owner))()
	for range maximumAttempts {
		a, raw, err := l.get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) {
			return nil
		}
		if err != nil {
			return err
		}
		changes := []Change{{Key: ownerKey(owner), Was: raw}}
		owned, rests := place{owner: owner}.encode(), until.After(now)
		var value []byte
		if rests {
			value = place{until: until}.encode()
		}
		for _, key := range places(a) {
			changes = append(changes, Change{Key: key, Was: owned, Value: value})
		}
		err = l.store.Commit(ctx, changes...)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			l.doubtAll(rowsOf(a)...)
			return wrapWriting(err)
		}
		l.vacate(a, rests, until)
		return nil
	}
	return fmt.Errorf("%w: others were quicker %d times", network.ErrTaken, maximumAttempts)
}

// vacate marks in memory what an allocation held as free, or as resting.
func (l *Ledger) vacate(a network.Allocation, rests bool, until time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.quotas.drop(a.Owner)
	for _, key := range places(a) {
		if rests {
			l.rest(key, until)
		} else {
			l.forget(key)
		}
	}
}

// Rouse frees an address that rests, before its time. One that does not rest stays as it is.
func (l *Ledger) Rouse(ctx context.Context, pool string, address netip.Addr) error {
	key := addressKey(pool, address)
	l.mutex.Lock()
	var due []resting
	l.resting = slices.DeleteFunc(l.resting, func(r resting) bool {
		if r.key != key {
			return false
		}
		due = append(due, r)
		return true
	})
	l.mutex.Unlock()
	if len(due) == 0 {
		return nil
	}
	if _, err := l.wake(ctx, due); err != nil {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.resting = append(l.resting, due...)
		return wrapWriting(err)
	}
	_, err := l.settle(ctx)
	return err
}

// wokenAtOnce is how many rows Wake frees in one commit.
const wokenAtOnce = 256

// Wake frees what has rested until now, and says how many rows that are. It also finds out what a lost answer has left in doubt.
func (l *Ledger) Wake(ctx context.Context, now time.Time) (int, error) {
	l.mutex.Lock()
	var due []resting
	l.resting = slices.DeleteFunc(l.resting, func(r resting) bool {
		if r.until.After(now) {
			return false
		}
		due = append(due, r)
		return true
	})
	l.mutex.Unlock()
	freed := 0
	for rows := range slices.Chunk(due, wokenAtOnce) {
		woken, err := l.wake(ctx, rows)
		if freed += woken; err != nil {
			l.mutex.Lock()
			l.resting = append(l.resting, due[freed:]...)
			l.mutex.Unlock()
			return freed, wrapWriting(err)
		}
	}
	_, err := l.settle(ctx)
	return freed, err
}

// wake removes rows that rest. One that is not as it was is in doubt: it was removed, or given out again, by another server or by a commit of
// which the answer was lost.
func (l *Ledger) wake(ctx context.Context, rows []resting) (int, error) {
	changes := make([]Change, len(rows))
	for i, r := range rows {
		changes[i] = Change{Key: r.key, Was: place{until: r.until}.encode()}
	}
	err := l.store.Commit(ctx, changes...)
	if errors.Is(err, ErrConflict) && len(rows) > 1 {
		for i := range rows {
			if woken, err := l.wake(ctx, rows[i:i+1]); err != nil {
				return i + woken, err
			}
		}
		return len(rows), nil
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		return 0, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, r := range rows {
		if err != nil {
			l.doubt(r.key)
		} else {
			l.forget(r.key)
		}
	}
	return len(rows), nil
}

func wrapWriting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the ledger: %w", err)
}
