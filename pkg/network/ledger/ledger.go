// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ledger records which owner holds which addresses, VLANs and MAC addresses. The store is the only source of
// truth: each change is one commit that compares the rows on which it depends, so that a resource never has two owners
// and an owner never has two allocations. The hints in memory only propose free resources; a wrong hint costs another
// attempt.
//
// Package service decides about requests. The ledger uses no cloud, contract or clock. Start reading at Open and
// ReserveAll; transitions.go in package service lists the states of an allocation.
package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// settings are those of the active pools. The lock changing guards them.
	settings []Pool
	// abandoned is called when work of another server may be found.
	abandoned atomic.Pointer[func()]
	// rows serializes the commits and reads of a row with the changes of its hints, so that an older value never replaces a newer one.
	rows KeyedLocks[string]
	// quotas serializes the commits of this process that change the same quota row.
	quotas KeyedLocks[string]
	// generation returns a number for a new allocation.
	generation func() uint64
	// accepted reports whether all allocations were checked, and none was outside of the pools.
	accepted bool
}

// Open reads the hints from a store. Rows of other pools stay untouched. It fails if the format is newer or a row is
// unreadable.
func Open(ctx context.Context, store Store, pools ...Pool) (*Ledger, error) {
	l := &Ledger{store: store, settings: pools, generation: rand.Uint64}
	l.watcher, _ = store.(Watcher)
	if l.leaser, _ = store.(Leaser); l.leaser == nil {
		l.leaser = unshared{}
	}
	made, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	l.hints.init(made)
	if err := l.begin(ctx); err != nil {
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
func (l *Ledger) Server() string { return l.leaser.Server() }

// Lease returns the time for which no other server takes over the work of this one.
func (l *Ledger) Lease() time.Duration { return l.leaser.Lease() }

// unshared is the lease of a process that is the only one with the store, which it locks until it ends.
type unshared struct{}

// Server returns no name: there is one server.
func (unshared) Server() string { return "" }

// Lease returns a time that no call outlives.
func (unshared) Lease() time.Duration { return 24 * time.Hour }

// Alive reports whether a server's lease is still held. This process counts as alive. It fails if the store cannot be
// read.
func (l *Ledger) Alive(ctx context.Context, server string) (bool, error) {
	if server == "" || server == l.leaser.Server() {
		return server != "", nil
	}
	raw, err := l.store.Get(ctx, ServerKey(server))
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	return raw != nil, nil
}

// Get returns the allocation of an owner. The error wraps network.ErrNotHeld if there is none.
func (l *Ledger) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	return Find(ctx, l.store, owner)
}

// find returns the allocation of an owner with its row. The error wraps network.ErrNotHeld if there is none.
func find(ctx context.Context, store Store, owner network.Owner) (network.Allocation, []byte, error) {
	raw, err := store.Get(ctx, ownerKey(owner))
	if err != nil {
		return network.Allocation{}, nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if raw == nil {
		return network.Allocation{}, nil, network.ErrNotHeld
	}
	a, err := decode(raw)
	if err != nil {
		err = &BrokenRow{Key: ownerKey(owner), Err: err}
	}
	return a, raw, err
}

// ByAddress returns the allocation that an address belongs to. The error wraps network.ErrNotHeld if the address is free or in quarantine.
func (l *Ledger) ByAddress(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	raw, err := l.store.Get(ctx, addressKey(pool, address))
	if err != nil {
		return network.Allocation{}, fmt.Errorf("reading the ledger: %w", err)
	}
	if raw == nil {
		return network.Allocation{}, network.ErrNotHeld
	}
	p, err := parseResourceRow(raw)
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

// Unfinished calls each for every allocation that is not bound. It decodes no other rows. It fails if the store or each
// does.
func (l *Ledger) Unfinished(ctx context.Context, each func(network.Allocation) error) error {
	return l.allocations(ctx, prefixOwner, isBound, each)
}

// Owned returns the allocations of a contract whose keys have the prefix of the owner's key, sorted by owner. It fails
// if the store does.
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

// maximumAttempts limits the repetitions of a change after other servers changed the same rows. The pauses are random.
const maximumAttempts = 64

// retry calls attempt until it returns something other than ErrConflict. All changes of the ledger go through it.
func retry(ctx context.Context, attempt func(number int) error) error {
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

// lostAnswerTimeout limits the wait of commit for the row that shows whether a commit was made. The request may have no time
// left, so it has its own limit.
const lostAnswerTimeout = 2 * time.Second

// commit writes rows and updates the hints. The first change must write a value that no other commit writes: after an
// error with an unknown outcome, its row shows whether the commit was made. The store guarantees that a commit is not
// made after its error was returned.
func (l *Ledger) commit(ctx context.Context, changes ...Change) error {
	keys := make([]string, len(changes))
	for i, change := range changes {
		keys[i] = change.Key
	}
	unlock, err := l.rows.Lock(ctx, keys...)
	if err != nil {
		return err
	}
	defer unlock()
	rebuilds := l.hints.rebuilt()
	var revision int64
	if l.watcher != nil {
		revision, err = l.watcher.CommitAt(ctx, changes...)
	} else {
		err = l.store.Commit(ctx, changes...)
	}
	if err == nil {
		for _, change := range changes {
			_ = l.hints.apply(change.Key, change.Value, 0) // it cannot fail for a row that was just written
		}
		l.hints.addOwnCommit(revision, keys)
		l.hints.recheck(rebuilds, keys)
		return nil
	}
	first, reading := l.reload(ctx, keys)
	switch {
	case errors.Is(err, ErrConflict):
		return ErrConflict
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrDuplicateKey), reading != nil:
		return wrapWriting(err)
	case bytes.Equal(first, changes[0].Value) && (first == nil) == (changes[0].Value == nil):
		return nil
	}
	return wrapWriting(err)
}

// reload reads locked rows, corrects the hints about them, and returns the value of the first one. If the store cannot be read, it
// notes them as uncertain and fails.
func (l *Ledger) reload(ctx context.Context, keys []string) (first []byte, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostAnswerTimeout)
	defer cancel()
	defer l.hints.recheck(l.hints.rebuilt(), keys)
	for i, key := range keys {
		raw, err := l.store.Get(ctx, key)
		if err != nil {
			l.hints.mutex.Lock()
			for _, unread := range keys[i:] {
				l.hints.uncertain[unread] = struct{}{}
			}
			l.hints.mutex.Unlock()
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		if i == 0 {
			first = raw
		}
		_ = l.hints.apply(key, raw, 0) // a broken row stays marked as used; `graft ledger verify` finds it
	}
	return first, nil
}

// refresh reads rows and corrects the hints about them. It fails if the store cannot be read; the rows are uncertain then.
func (l *Ledger) refresh(ctx context.Context, keys ...string) error {
	unlock, err := l.rows.Lock(context.WithoutCancel(ctx), keys...)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = l.reload(ctx, keys)
	return err
}

func wrapWriting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the ledger: %w", err)
}

// mayBeStranded returns the owner of a row, and reports whether its allocation may be outside of the pools: in a missing pool, or with an
// address outside of its ranges. It decodes no rows of owners, because selections wait for it. It fails for an unreadable row.
func mayBeStranded(pools map[string]*pool, key string, value []byte) (owner network.Owner, may bool, err error) {
	switch {
	case strings.HasPrefix(key, prefixOwner) && !hasAddresses(value):
		owner, err = network.ParseOwner(strings.TrimPrefix(key, prefixOwner))
		return owner, true, err
	case strings.HasPrefix(key, prefixAddress):
		name, address, err := parseAddress(key)
		if err != nil || pools[name].accepts([]netip.Addr{address}) {
			return owner, false, err
		}
		p, err := parseResourceRow(value)
		return p.owner, p.until.IsZero(), err
	}
	return owner, false, nil
}

// errRefused ends a change of the pools.
var errRefused = errors.New("the pools are refused")

// Configure replaces the pools. Allocations remain, including stranded ones: other pools cannot use their addresses
// until their release, and this pool cannot use them at all. When it returns, no selection from the old pools is
// written any more.
// If refuse, which may be nil, returns true for stranded allocations, Configure changes nothing and returns them. It
// blocks selections during the check, so that refuse sees all stranded allocations, except those of other servers on a
// shared store. It reads no rows if the pools are unchanged since a check that found no stranded allocation.
func (l *Ledger) Configure(ctx context.Context, refuse func(network.Allocation) bool, pools ...Pool) (refused []network.Allocation, err error) {
	made, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	l.changing.Lock()
	defer l.changing.Unlock()
	l.hints.mutex.Lock()
	same := maps.EqualFunc(l.hints.pools, made, func(a, b *pool) bool { return reflect.DeepEqual(a.Pool, b.Pool) })
	l.hints.mutex.Unlock()
	if same && l.accepted {
		return nil, nil
	}
	accepted := refuse != nil
	err = l.rebuild(ctx, made, 0, 0, func(each func(key string, value []byte) error) error {
		owners := map[string]network.Owner{}
		err := l.store.Scan(ctx, "", func(raw, value []byte) error {
			key := string(raw)
			if refuse == nil {
				return each(key, value)
			}
			owner, may, err := mayBeStranded(made, key, value)
			if err != nil {
				return err
			}
			if may {
				owners[owner.String()] = owner
			}
			return each(key, value)
		})
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(owners)) {
			a, err := l.Get(ctx, owners[name])
			if err != nil && !errors.Is(err, network.ErrNotHeld) { // it may have been released by another request
				return err
			}
			if err == nil && !made[a.Pool].accepts(a.Addresses) {
				accepted = false
				if refuse(a) {
					refused = append(refused, a)
				}
			}
		}
		if len(refused) > 0 {
			return errRefused
		}
		return nil
	})
	switch {
	case errors.Is(err, errRefused):
		return refused, nil
	case err != nil:
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	l.accepted, l.settings = accepted, pools
	return nil, nil
}

// rebuild replaces the hints by those of a scan at the requested revision or a later one. Commits do not wait for the scan: rows that change
// during it are read again. It ignores unreadable rows, and fails if the scan fails.
func (l *Ledger) rebuild(
	ctx context.Context, pools map[string]*pool, revision int64, delay time.Duration, scan func(each func(key string, value []byte) error) error,
) error {
	var fresh hints
	fresh.init(pools)
	l.hints.noteChanges(true)
	defer l.hints.noteChanges(false)
	err := scan(func(key string, value []byte) error { _ = fresh.load(key, value, delay); return nil })
	if err != nil {
		return err
	}
	l.hints.replace(&fresh, revision)
	_, _ = l.resolveUncertain(ctx) // Expire retries it
	return nil
}

// Follow applies commits of other servers until ctx ends. It returns immediately if the store is not shared, and
// otherwise only with a permanent error.
func (l *Ledger) Follow(ctx context.Context) error {
	if l.watcher == nil {
		return nil
	}
	if err := l.watcher.Watch(ctx, follower{l}); ctx.Err() == nil {
		return err
	}
	return nil
}

// expiryDelay is the time for which a server leaves an expired row to the server that wrote it, which prevents conflicts
// of all servers for each row.
const expiryDelay = 5 * time.Second

type follower struct{ *Ledger }

// Begin implements Observer. It rebuilds the hints.
func (f follower) Begin(revision int64, scan func(each func(key string, value []byte) error) error) error {
	f.changing.RLock() // the pools must not be replaced
	defer f.changing.RUnlock()
	pools, err := newPools(f.settings)
	if err == nil {
		err = f.rebuild(context.Background(), pools, revision, expiryDelay, scan)
	}
	if err == nil {
		f.reportAbandoned()
	}
	return err
}

// Change implements Observer. It ignores a broken row, which `graft ledger verify` finds. It does not wait for commits of rows without
// hints: the row of a busy quota would delay all other changes.
func (f follower) Change(revision int64, key string, value []byte) {
	if hasHints(key) {
		unlock, _ := f.rows.Lock(context.Background(), key) // it fails only when the context ends
		defer unlock()
	}
	if f.hints.isCurrent(revision, key) {
		_ = f.hints.apply(key, value, expiryDelay)
	}
	if value == nil && strings.HasPrefix(key, prefixServer) {
		f.reportAbandoned()
	}
}

func (l *Ledger) reportAbandoned() {
	if call := l.abandoned.Load(); call != nil {
		(*call)()
	}
}

// OnAbandoned calls a function whenever work of other servers may be found: their lease has ended, or something was missed.
func (l *Ledger) OnAbandoned(call func()) { l.abandoned.Store(&call) }

// resolveUncertain reads the rows that are uncertain, and reports whether there were any. It fails at the first one that cannot be read.
func (l *Ledger) resolveUncertain(ctx context.Context) (bool, error) {
	l.hints.mutex.Lock()
	keys := slices.Collect(maps.Keys(l.hints.uncertain))
	l.hints.mutex.Unlock()
	for _, key := range keys {
		if err := l.refresh(ctx, key); err != nil {
			return true, err
		}
	}
	return len(keys) > 0, nil
}

// begin checks the version of the rows, and writes it into an empty store.
func (l *Ledger) begin(ctx context.Context) error {
	return retry(ctx, func(int) error {
		found, err := l.store.Get(ctx, keyFormat)
		if err != nil {
			return err
		}
		if fresh, err := readFormat(found); err != nil || !fresh {
			return err
		}
		return l.store.Commit(ctx, Change{Key: keyFormat, Value: []byte(format)})
	})
}

// Expire removes rows after their quarantine and expired tombstones. It returns the number of resources that became free.
// It also reads uncertain rows again. It fails if the store does; the number is then incomplete.
func (l *Ledger) Expire(ctx context.Context, now time.Time) (freed int, err error) {
	err = retry(ctx, func(int) error {
		for part := range slices.Chunk(l.hints.due(now), Batch(l.store)) {
			changes, resources := make([]Change, len(part)), 0
			for i, row := range part {
				changes[i] = Change{Key: row.key, Was: row.row}
				if !row.until.IsZero() {
					resources++
				}
			}
			if err := l.commit(ctx, changes...); err != nil {
				return err // after a conflict, the hints have been corrected
			}
			freed += resources
		}
		return nil
	})
	if err == nil {
		_, err = l.resolveUncertain(ctx)
	}
	return freed, err
}

// Usage returns the usage of a pool. It is zero for an unknown pool.
func (l *Ledger) Usage(pool string) Usage {
	h := &l.hints
	h.mutex.Lock()
	defer h.mutex.Unlock()
	of := h.pools[pool]
	if of == nil {
		return Usage{}
	}
	quarantined := map[bool]uint64{}
	for key := range h.expiring {
		if digits, ok := strings.CutPrefix(key, prefixAddress+pool+"/"); ok {
			quarantined[len(digits) > 8]++
		}
	}
	u := Usage{}
	for i, index := range of.indexes {
		bits := of.Subnets[i].Prefix.Addr().BitLen()
		inQuarantine := min(quarantined[bits == 128], index.Len())
		one := FamilyUsage{Bits: bits, Size: index.Size(), Held: index.Len() - inQuarantine, Quarantined: inQuarantine}
		u.Families = append(u.Families, one)
		u.Size, u.Held, u.Quarantined = u.Size+one.Size, u.Held+one.Held, u.Quarantined+one.Quarantined
	}
	if of.LastVLAN > 0 {
		u.VLANs = int(of.LastVLAN) - int(of.FirstVLAN) + 1
		for _, trunk := range h.vlans {
			u.TakenVLANs = max(u.TakenVLANs, trunk.Taken(of.FirstVLAN, of.LastVLAN))
		}
	}
	return u
}

// Taken returns the number of addresses of a pool that are held or in quarantine.
func (l *Ledger) Taken(pool string) uint64 {
	u := l.Usage(pool)
	return u.Held + u.Quarantined
}
