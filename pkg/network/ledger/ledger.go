// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ledger records which owner holds which addresses, VLANs and MAC addresses. The rows of a store are the only truth: each change is one
// commit that compares the rows it depends on, so a thing never has two owners and an owner never has two allocations. The hints in memory only
// propose free things; a wrong hint costs another attempt.
//
// Package service decides who may have what and when. The ledger knows no cloud, no contract and no clock. Start reading at Open and
// ReserveAll; transitions.go in package service lists the states of an allocation.
package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Ledger allocates from pools. It is safe for concurrent use.
type Ledger struct {
	store Store
	// watcher and leaser are set if several servers share the store.
	watcher Watcher
	leaser  Leaser
	hints   hints
	// changing is held for reading during each allocation and for writing while pools are replaced.
	changing sync.RWMutex
	// quotas serializes the commits of this process that change the same quota row.
	quotas Keyed[string]
	// generation returns a number for a new allocation.
	generation func() uint64
	// accepted reports whether the pools were configured with no refused allocation outside of them.
	accepted bool
}

// Open reads the hints from a store. Rows of pools that are not given stay untouched.
func Open(ctx context.Context, store Store, pools ...Pool) (*Ledger, error) {
	l := &Ledger{store: store, generation: rand.Uint64}
	l.watcher, _ = store.(Watcher)
	l.leaser, _ = store.(Leaser)
	made, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	l.hints.init(made)
	if err := l.upgrade(ctx); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	err = store.Scan(ctx, "", func(key, value []byte) error { return l.hints.load(string(key), value, 0) })
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return l, nil
}

// Shared reports whether other servers may write into the same store.
func (l *Ledger) Shared() bool { return l.watcher != nil }

// Server returns the identifier under which rows name this process while it works on them; it is empty if no other process shares the store.
func (l *Ledger) Server() string {
	if l.leaser == nil {
		return ""
	}
	return l.leaser.Server()
}

// foreverValid is the validity of a store's lock, which the process holds until it ends.
const foreverValid = 24 * time.Hour

// Lease returns for how long no other server takes over the work of this one.
func (l *Ledger) Lease() time.Duration {
	if l.leaser == nil {
		return foreverValid
	}
	return l.leaser.Lease()
}

// Alive reports whether a server's lease is still held. This process counts as alive.
func (l *Ledger) Alive(ctx context.Context, server string) (bool, error) {
	if server == "" || l.leaser == nil {
		return false, nil
	}
	if server == l.leaser.Server() {
		return true, nil
	}
	raw, err := l.store.Get(ctx, ServerKey(server))
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	return raw != nil, nil
}

// Get returns what an owner holds. The error wraps network.ErrNotHeld if that is nothing.
func (l *Ledger) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	a, _, err := l.get(ctx, owner)
	return a, err
}

func (l *Ledger) get(ctx context.Context, owner network.Owner) (network.Allocation, []byte, error) {
	raw, err := l.store.Get(ctx, ownerKey(owner))
	if err != nil {
		return network.Allocation{}, nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if raw == nil {
		return network.Allocation{}, nil, network.ErrNotHeld
	}
	a, err := decode(raw)
	return a, raw, err
}

// At returns the allocation that an address belongs to. The error wraps network.ErrNotHeld if the address is free or in quarantine.
func (l *Ledger) At(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	raw, err := l.store.Get(ctx, addressKey(pool, address))
	if err != nil {
		return network.Allocation{}, fmt.Errorf("reading the ledger: %w", err)
	}
	if raw == nil {
		return network.Allocation{}, network.ErrNotHeld
	}
	p, err := parsePlace(raw)
	if err != nil {
		return network.Allocation{}, fmt.Errorf("reading the ledger: %w", err)
	}
	if !p.until.IsZero() {
		return network.Allocation{}, network.ErrNotHeld
	}
	a, err := l.Get(ctx, p.owner)
	if err == nil && (a.Pool != pool || !slices.Contains(a.Addresses, address)) {
		return network.Allocation{}, network.ErrNotHeld // it was released between the two reads
	}
	return a, err
}

// All calls each for every allocation, in the order of the owners, until it returns an error.
func (l *Ledger) All(ctx context.Context, each func(network.Allocation) error) error {
	return l.allocations(ctx, prefixOwner, nil, each)
}

// Unfinished calls each for every allocation that is not bound. It decodes no other rows.
func (l *Ledger) Unfinished(ctx context.Context, each func(network.Allocation) error) error {
	return l.allocations(ctx, prefixOwner, isBound, each)
}

// Owned returns the allocations of a contract whose keys begin with the given owner's key, in the order of the owners.
func (l *Ledger) Owned(ctx context.Context, beginning network.Owner) ([]network.Allocation, error) {
	var all []network.Allocation
	err := l.allocations(ctx, ownerKey(beginning), nil, func(a network.Allocation) error { all = append(all, a); return nil })
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return all, nil
}

func (l *Ledger) allocations(ctx context.Context, prefix string, skip func(raw []byte) bool, each func(network.Allocation) error) error {
	return l.store.Scan(ctx, prefix, func(key, value []byte) error {
		if skip != nil && skip(value) {
			return nil
		}
		a, err := decode(value)
		if err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
		return each(a)
	})
}

// maximumAttempts limits how often a change is repeated because other servers changed the same rows.
const maximumAttempts = 64

// retry calls attempt until it returns something other than ErrConflict. All changes of the ledger go through it.
func (l *Ledger) retry(ctx context.Context, attempt func(number int) error) error {
	for number := range maximumAttempts {
		err := attempt(number)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if number < 2 {
			continue
		}
		pause := time.Duration(rand.Int64N(int64(time.Millisecond) << min(number, 6))) //nolint:gosec // this is no secret
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w: other servers changed it first %d times", network.ErrTaken, maximumAttempts)
}

// lostAnswer bounds how long commit waits for the row that shows whether a commit was made.
const lostAnswer = 2 * time.Second

// commit writes rows and updates the hints. The first change must be one whose new value no other commit writes: after an error that leaves the
// outcome open, its row tells whether the commit was made. The store guarantees that a commit is not made after its error was returned.
func (l *Ledger) commit(ctx context.Context, changes ...Change) error {
	keys := keysOf(changes)
	versions := l.hints.begin(keys)
	var revision int64
	var err error
	if l.watcher != nil {
		revision, err = l.watcher.CommitAt(ctx, changes...)
	} else {
		err = l.store.Commit(ctx, changes...)
	}
	if err == nil {
		l.hints.expect(revision, changes)
		stale := l.hints.end(keys, versions, func(i int) ([]byte, bool) { return changes[i].Value, true })
		l.correct(ctx, stale)
		return nil
	}
	l.hints.end(keys, versions, nil)
	switch {
	case errors.Is(err, ErrConflict):
		l.correct(ctx, keys)
		return ErrConflict
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrTwice):
		l.correct(ctx, keys)
		return wrapWriting(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostAnswer)
	defer cancel()
	raw, reading := l.store.Get(ctx, changes[0].Key)
	if reading != nil {
		l.hints.markUncertain(keys)
		return wrapWriting(err)
	}
	l.correct(ctx, keys)
	if bytes.Equal(raw, changes[0].Value) && (raw == nil) == (changes[0].Value == nil) {
		return nil
	}
	return wrapWriting(err)
}

func keysOf(changes []Change) []string {
	keys := make([]string, len(changes))
	for i, change := range changes {
		keys[i] = change.Key
	}
	return keys
}

// refresh reads rows and corrects the hints about them. A row that changes at the same time is read again.
func (l *Ledger) refresh(ctx context.Context, keys ...string) error {
	for len(keys) > 0 {
		key := keys[:1]
		versions := l.hints.begin(key)
		raw, err := l.store.Get(ctx, key[0])
		stale := l.hints.end(key, versions, func(int) ([]byte, bool) { return raw, err == nil })
		switch {
		case err != nil:
			return fmt.Errorf("reading the ledger: %w", err)
		case len(stale) == 0:
			keys = keys[1:]
		}
	}
	return nil
}

// correct is refresh; rows that cannot be read now are uncertain.
func (l *Ledger) correct(ctx context.Context, keys []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostAnswer)
	defer cancel()
	for i := range keys {
		if l.refresh(ctx, keys[i]) != nil {
			l.hints.markUncertain(keys[i:])
			return
		}
	}
}

func wrapWriting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the ledger: %w", err)
}
