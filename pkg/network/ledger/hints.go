// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// hints caches the rows as this process last saw them: used addresses and VLANs, and rows with an expiry.
// It is updated at start, after each own commit and by the watch.
type hints struct {
	mutex   sync.Mutex
	pools   map[string]*pool
	vlans   map[network.Trunk]*allocator.VLANs
	outside outsideAddresses
	// expiring are the rows in quarantine and the tombstones.
	expiring map[string]expiry
	// uncertain holds keys of rows that could not be read after a commit with an unknown outcome.
	uncertain map[string]struct{}
	// changed holds the keys of rows that were applied during a rebuild; nil if there is none.
	changed  map[string]struct{}
	inFlight map[string]*inFlight
	// revision is the last one that the watch has delivered, and ahead are own commits that it has not delivered yet.
	revision   int64
	ownCommits map[string]ownCommit
	// abandoned is called without the mutex when work of another server may be found.
	abandoned func()
}

func (h *hints) init(pools map[string]*pool) {
	h.pools, h.vlans, h.outside = pools, map[network.Trunk]*allocator.VLANs{}, outsideAddresses{}
	h.uncertain, h.inFlight, h.ownCommits = map[string]struct{}{}, map[string]*inFlight{}, map[string]ownCommit{}
	h.expiring = map[string]expiry{}
}

// inFlight tracks running reads and writes of a row; version counts changes applied to it since they began.
type inFlight struct {
	users   int
	version uint64
}

// begin registers reads or writes of rows, and returns their versions for end.
func (h *hints) begin(keys []string) []uint64 {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	versions := make([]uint64, len(keys))
	for i, key := range keys {
		if h.inFlight[key] == nil {
			h.inFlight[key] = &inFlight{}
		}
		h.inFlight[key].users++
		versions[i] = h.inFlight[key].version
	}
	return versions
}

// end applies the values of rows, unless something else was applied since begin: the order of the two is unknown, and the row is returned as
// stale. A nil function applies nothing.
func (h *hints) end(keys []string, versions []uint64, values func(i int) ([]byte, bool)) (stale []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for i, key := range keys {
		if values != nil {
			if value, known := values(i); known && h.inFlight[key].version != versions[i] {
				stale = append(stale, key)
			} else if known {
				delete(h.uncertain, key)
				_ = h.load(key, value, 0) // a broken row stays marked as used; `graft ledger verify` finds it
			}
		}
		if h.inFlight[key].users--; h.inFlight[key].users == 0 {
			delete(h.inFlight, key)
		}
	}
	return stale
}

// ownCommit is the result of a commit of this process for a row.
type ownCommit struct {
	revision int64
	value    []byte
}

// maximumOwnCommits bounds the own commits that are remembered while the watch is interrupted.
const maximumOwnCommits = 1 << 15

// addOwnCommit notes an own commit, so that older changes of its rows are ignored when the watch reports them later.
func (h *hints) addOwnCommit(revision int64, changes []Change) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if revision <= h.revision {
		return
	}
	for _, change := range changes {
		if h.ownCommits[change.Key].revision < revision && len(h.ownCommits) < maximumOwnCommits {
			h.ownCommits[change.Key] = ownCommit{revision, bytes.Clone(change.Value)}
		}
	}
}

// isCurrent reports whether a delivered change is at least as new as an own commit.
func (h *hints) isCurrent(revision int64, key string) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.revision = revision
	own, known := h.ownCommits[key]
	if known && revision < own.revision {
		return false
	}
	delete(h.ownCommits, key)
	return true
}

// apply applies one row; a nil value means that it was removed. Rows of other servers expire after a delay, so that not all servers remove
// them at once.
func (h *hints) apply(key string, value []byte, delay time.Duration) error {
	h.mutex.Lock()
	delete(h.uncertain, key)
	err := h.load(key, value, delay)
	abandoned := h.abandoned
	h.mutex.Unlock()
	if abandoned != nil && strings.HasPrefix(key, prefixServer) && value == nil {
		abandoned()
	}
	return err
}

// load works like apply for a caller that holds the mutex.
func (h *hints) load(key string, value []byte, delay time.Duration) error {
	if f := h.inFlight[key]; f != nil {
		f.version++
	}
	if h.changed != nil {
		h.changed[key] = struct{}{}
	}
	kind, _, _ := strings.Cut(key, "/")
	switch kind + "/" {
	case prefixAddress, prefixVLAN, prefixMAC:
		return h.loadResource(key, value, delay)
	case prefixOwner:
		if _, err := network.ParseOwner(strings.TrimPrefix(key, prefixOwner)); err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
	case prefixTombstone:
		released, _ := parseTombstone(value) // a broken one is removed
		h.expiring[key] = expiry{key: key, row: bytes.Clone(value), due: released.Add(tombstoneLife + delay)}
		if value == nil {
			delete(h.expiring, key)
		}
	}
	return nil
}

func (h *hints) loadResource(key string, value []byte, delay time.Duration) error {
	var p resourceRow
	if owned := len(value) > 0 && value[0] == markOwned; value != nil && !owned {
		var err error
		if p, err = parseResourceRow(value); err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
	}
	delete(h.expiring, key)
	if value == nil {
		return h.mark(key, false)
	}
	if !p.until.IsZero() {
		h.expiring[key] = expiry{key: key, row: bytes.Clone(value), due: p.until.Add(delay), until: p.until, last: p.owner}
	}
	return h.mark(key, true)
}

// mark marks the resource of a key as used or free.
func (h *hints) mark(key string, used bool) error {
	switch {
	case strings.HasPrefix(key, prefixAddress):
		name, address, err := parseAddress(key)
		if err != nil {
			return err
		}
		if used {
			h.takeAddress(name, address)
		} else {
			h.freeAddress(name, address)
		}
	case strings.HasPrefix(key, prefixVLAN):
		trunk, id, err := parseVLAN(key)
		if err != nil {
			return err
		}
		if used {
			h.trunk(trunk).Take(id)
		} else {
			h.freeVLAN(trunk, id)
		}
	}
	return nil
}

// markUncertain keeps resources marked as used until their rows can be read.
func (h *hints) markUncertain(keys []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, key := range keys {
		h.uncertain[key] = struct{}{}
		if h.changed != nil {
			h.changed[key] = struct{}{}
		}
		if value, quarantined := h.expiring[key]; !quarantined || value.until.IsZero() {
			_ = h.mark(key, true)
		}
	}
}

func (h *hints) trunk(t network.Trunk) *allocator.VLANs {
	if h.vlans[t] == nil {
		h.vlans[t] = &allocator.VLANs{}
	}
	return h.vlans[t]
}

// maximumIdleTrunks limits the stored trunks without VLANs. They are stored so that a released VLAN is not chosen next.
const maximumIdleTrunks = 4096

func (h *hints) freeVLAN(trunk network.Trunk, id uint16) {
	of := h.vlans[trunk]
	if of == nil {
		return
	}
	if of.Free(id); of.Len() == 0 && len(h.vlans) > maximumIdleTrunks {
		delete(h.vlans, trunk)
	}
}

// expiryDelay is the time for which a server leaves an expired row to the server that wrote it, which prevents conflicts
// of all servers for each row.
const expiryDelay = 5 * time.Second

type follower struct{ *Ledger }

// Begin implements Observer. The hints are rebuilt; rows that are committed during the scan follow as changes.
func (f follower) Begin(revision int64, scan func(each func(key string, value []byte) error) error) error {
	f.changing.RLock() // the pools must not be replaced
	defer f.changing.RUnlock()
	var settings []Pool
	f.hints.mutex.Lock()
	for _, of := range f.hints.pools {
		settings = append(settings, of.Pool)
	}
	abandoned := f.hints.abandoned
	f.hints.mutex.Unlock()
	pools, err := newPools(settings)
	if err != nil {
		return err
	}
	err = f.rebuild(context.Background(), pools, revision, func(fresh *hints) error {
		return scan(func(key string, value []byte) error { _ = fresh.load(key, value, expiryDelay); return nil })
	})
	if err == nil && abandoned != nil {
		abandoned()
	}
	return err
}

// Change implements Observer.
func (f follower) Change(revision int64, key string, value []byte) error {
	if !f.hints.isCurrent(revision, key) {
		return nil
	}
	_ = f.hints.apply(key, value, expiryDelay) // a broken row is found by `graft ledger verify`, and stays marked as used
	return nil
}

// replace takes over the hints of a scan. The search for free resources continues where it was. The caller holds the
// mutex.
func (h *hints) replace(fresh *hints, revision int64) {
	for name, of := range fresh.pools {
		of.continueFrom(h.pools[name])
	}
	for trunk, vlans := range fresh.vlans {
		if was := h.vlans[trunk]; was != nil {
			vlans.Continue(was)
		}
	}
	for key, row := range h.expiring {
		if now, still := fresh.expiring[key]; still && bytes.Equal(now.row, row.row) {
			fresh.expiring[key] = row
		}
	}
	h.pools, h.vlans, h.outside, h.expiring = fresh.pools, fresh.vlans, fresh.outside, fresh.expiring
	h.uncertain = map[string]struct{}{}
	for _, f := range h.inFlight {
		f.version++
	}
	h.revision = max(h.revision, revision)
	for key, own := range h.ownCommits {
		if own.revision <= h.revision {
			delete(h.ownCommits, key)
		} else {
			_ = h.load(key, own.value, 0)
		}
	}
}

func (h *hints) pool(name string) *pool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.pools[name]
}

// longestQuarantine returns the longest quarantine of the pools, or zero if one of them does not tell.
func (h *hints) longestQuarantine() time.Duration {
	longest := time.Duration(0)
	for _, of := range h.pools {
		if of.Quarantine == 0 {
			return 0
		}
		longest = max(longest, of.Quarantine)
	}
	return min(longest, math.MaxInt64/2)
}

// tombstone returns the tombstone of an owner and the time of the release; nil if there is none.
func (h *hints) tombstone(owner network.Owner) (row []byte, released time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	row = h.expiring[tombstoneKey(owner)].row
	released, _ = parseTombstone(row)
	return row, released
}

// expiry is a row to remove at a time: a resource in quarantine, or a tombstone, which has a zero until.
type expiry struct {
	key        string
	row        []byte
	due, until time.Time
	// last is the previous owner of a resource in quarantine.
	last network.Owner
}

// due returns the rows to remove at a time. A quarantine that ends later than now plus a maximum was written by a clock
// that was wrong, and ends then.
func (h *hints) due(now time.Time) []expiry {
	var due []expiry
	latest := now.Add(h.longestQuarantine())
	for key, row := range h.expiring {
		if latest.After(now) && !row.until.IsZero() && row.due.After(latest) {
			row.due = latest
			h.expiring[key] = row
		}
		if !row.due.After(now) {
			due = append(due, row)
		}
	}
	return due
}

// tombstoneLife is the time for which the release of an owner is remembered, so that a request that was sent before the
// release and arrives late does not allocate again.
const tombstoneLife = 10 * time.Minute

func tombstoneKey(owner network.Owner) string { return prefixTombstone + owner.String() }

// tombstone returns the row with the time of an owner's release.
func tombstone(released time.Time) []byte { return []byte(released.UTC().Format(time.RFC3339Nano)) }

func parseTombstone(value []byte) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, string(value))
}
