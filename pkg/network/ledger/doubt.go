// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// doubt remembers rows of which it is not known how they are, after a commit whose answer was lost or a read that failed. What they stand
// for stays taken in memory until settle has found out. The mutex is held.
func (l *Ledger) doubt(keys ...string) {
	if l.doubts == nil {
		l.doubts = map[string]uint64{}
	}
	l.doubted++
	for _, key := range keys {
		l.doubts[key] = l.doubted
		l.resting.release(key) // whoever waits for it finds out
	}
}

// doubtAll is doubt, for those who do not hold the mutex.
func (l *Ledger) doubtAll(keys ...string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.doubt(keys...)
}

// suspect is doubt of an address that may rest by now: where memory says that it is free, nobody gets it before settle has found out. Whoever has chosen it
// meanwhile finds out at the commit.
func (l *Ledger) suspect(pool string, address netip.Addr) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := l.pools[pool]
	if of == nil {
		return
	}
	if i, err := of.subnet(address); err == nil && of.indexes[i].Take(address) {
		l.doubt(addressKey(pool, address))
	}
}

// rowsOf are the keys of all rows of an allocation.
func rowsOf(a network.Allocation) []string { return append(places(a), ownerKey(a.Owner)) }

// settle asks the store for the rows that are in doubt, and says whether there were any. Those that cannot be read stay in doubt.
func (l *Ledger) settle(ctx context.Context) (bool, error) {
	l.mutex.Lock()
	doubts := maps.Clone(l.doubts)
	l.mutex.Unlock()
	for key, number := range doubts {
		raw, err := l.store.Get(ctx, key)
		if err != nil {
			return true, fmt.Errorf("reading the ledger: %w", err)
		}
		if err := l.learn(key, number, raw); err != nil {
			return true, err
		}
	}
	return len(doubts) > 0, nil
}

// learn brings memory in line with a row that was in doubt when it was read, unless something newer is known or doubted by now.
func (l *Ledger) learn(key string, number uint64, raw []byte) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if current, doubted := l.doubts[key]; !doubted || current != number {
		return nil
	}
	delete(l.doubts, key)
	if strings.HasPrefix(key, prefixOwner) {
		if raw != nil && l.following != nil {
			return nil
		}
		return l.learnOwner(key, raw)
	}
	if raw == nil {
		l.resting.remove(key)
		delete(l.roused, key)
		l.forget(key)
		return nil
	}
	p, err := parsePlace(raw)
	if l.following != nil {
		if err == nil && !p.until.IsZero() {
			l.restAnew(rest{key: key, until: p.until, due: p.until.Add(patience), last: p.owner})
		}
		return nil // it may be gone by now, and is told; see following
	}
	if err != nil {
		return fmt.Errorf("reading the row %s: %w", key, err)
	}
	l.take(key)
	l.resting.remove(key)
	l.rest(key, p)
	return nil
}

// restAnew notes a row that rests, in the place of another rest of it that was known.
func (l *Ledger) restAnew(row rest) {
	if known, rests := l.resting.at(row.key); rests && known.same(row) {
		return
	}
	l.resting.remove(row.key)
	l.resting.add(row)
}

func (l *Ledger) learnOwner(key string, raw []byte) error {
	if raw != nil {
		return l.readOwner(key, raw)
	}
	owner, err := network.ParseOwner(strings.TrimPrefix(key, prefixOwner))
	l.quotas.drop(owner)
	return err
}

// written brings memory in line with an allocation that is known to be written: who has read the owner's row before that learns nothing of it any
// more. The mutex is held.
func (l *Ledger) written(a network.Allocation) {
	if len(l.doubts) > 0 {
		delete(l.doubts, ownerKey(a.Owner))
	}
	l.quotas.note(a)
	if len(l.roused) > 0 {
		l.awake(places(a)...)
	}
}

// take marks what stands under a key as taken, in memory.
func (l *Ledger) take(key string) {
	switch {
	case strings.HasPrefix(key, prefixAddress):
		if name, address, err := parseAddress(key); err == nil {
			l.takeAddress(name, address)
		}
	case strings.HasPrefix(key, prefixVLAN):
		if trunk, id, err := parseVLAN(key); err == nil {
			l.trunk(trunk).Take(id)
		}
	}
}
