// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// hints caches the rows as this process last saw them: used addresses and VLANs, and rows with an expiry.
// It is updated at start, after each own commit and by the watch.
type hints struct {
	mutex sync.Mutex
	pools map[string]*pool
	vlans map[network.Trunk]*allocator.VLANs
	// outside has the addresses of rows that are in no range of their own pool, with the names of these pools: the pool was drained or
	// renamed, or belongs to another server. No pool may allocate them while their rows exist.
	outside map[netip.Addr][]string
	// expiring are the rows in quarantine and the tombstones.
	expiring map[string]expiry
	// uncertain holds keys of rows whose hints may be wrong, for example because they could not be read after a commit with an unknown outcome.
	uncertain map[string]struct{}
	// changed holds the keys of rows with hints that were applied since a rebuild began; nil if there is none.
	changed map[string]struct{}
	// revision is the last one that the watch has delivered, and ownCommits has the revisions of later commits of this process, by row.
	revision   int64
	ownCommits map[string]int64
	// rebuilds counts the scans that have replaced the hints.
	rebuilds int
}

func (h *hints) init(pools map[string]*pool) {
	h.pools, h.vlans, h.outside = pools, map[network.Trunk]*allocator.VLANs{}, map[netip.Addr][]string{}
	h.uncertain, h.ownCommits, h.expiring = map[string]struct{}{}, map[string]int64{}, map[string]expiry{}
}

// maximumOwnCommits bounds the own commits that are remembered while the watch is interrupted.
const maximumOwnCommits = 1 << 15

// addOwnCommit notes the revision of an own commit, so that older changes of its rows are ignored when the watch reports them later.
func (h *hints) addOwnCommit(revision int64, keys []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, key := range keys {
		if revision > h.revision && len(h.ownCommits) < maximumOwnCommits {
			h.ownCommits[key] = revision
		}
	}
}

// rebuilt returns the number of rebuilds until now.
func (h *hints) rebuilt() int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.rebuilds
}

// recheck notes rows as uncertain if their values were written or read before a rebuild and applied after it: another server may have
// changed them between, and the watch does not report again what the scan has found.
func (h *hints) recheck(rebuilds int, keys []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, key := range keys {
		if h.rebuilds != rebuilds && hasHints(key) {
			h.uncertain[key] = struct{}{}
		}
	}
}

// isCurrent reports whether a delivered change is at least as new as an own commit.
func (h *hints) isCurrent(revision int64, key string) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.revision = revision
	if revision < h.ownCommits[key] {
		return false
	}
	delete(h.ownCommits, key)
	return true
}

// apply applies one row; a nil value means that it was removed. Rows of other servers expire after a delay, so that not all servers remove
// them at once. It fails for an unreadable row, which stays as it was.
func (h *hints) apply(key string, value []byte, delay time.Duration) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if delete(h.uncertain, key); h.changed != nil && hasHints(key) {
		h.changed[key] = struct{}{}
	}
	return h.load(key, value, delay)
}

// noteChanges begins or ends to collect the keys of applied rows in changed.
func (h *hints) noteChanges(begin bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.changed = nil; begin {
		h.changed = map[string]struct{}{}
	}
}

// hasHints reports whether hints depend on the row with a key: those of resources and tombstones.
func hasHints(key string) bool {
	kind, _, _ := strings.Cut(key, "/")
	return slices.Contains([]string{prefixAddress, prefixVLAN, prefixMAC, prefixTombstone}, kind+"/")
}

// load works like apply for a caller that holds the mutex.
func (h *hints) load(key string, value []byte, delay time.Duration) error {
	if old, known := h.expiring[key]; known && bytes.Equal(old.row, value) {
		return nil
	}
	delete(h.expiring, key)
	kind, _, _ := strings.Cut(key, "/")
	switch kind + "/" {
	case prefixAddress, prefixVLAN, prefixMAC:
		resource, err := parseResource(key)
		if err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
		if value != nil {
			p, err := parseResourceRow(value)
			if err != nil {
				return fmt.Errorf("reading the row %s: %w", key, err)
			}
			if !p.until.IsZero() {
				h.expiring[key] = expiry{key: key, row: bytes.Clone(value), due: p.until.Add(delay), until: p.until, last: p.owner}
			}
		}
		h.mark(resource, value != nil)
	case prefixOwner:
		if _, err := network.ParseOwner(strings.TrimPrefix(key, prefixOwner)); err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
	case prefixTombstone:
		if released, _ := parseTombstone(value); value != nil { // an unreadable one is removed
			h.expiring[key] = expiry{key: key, row: bytes.Clone(value), due: released.Add(tombstoneLife + delay)}
		}
	}
	return nil
}

// mark marks a resource as used or free.
func (h *hints) mark(t Resource, used bool) {
	switch {
	case t.Address.IsValid():
		h.markAddress(t.Pool, t.Address, used)
	case t.VLAN != 0 && used:
		h.trunk(t.Trunk).Take(t.VLAN)
	case t.VLAN != 0:
		of := h.trunk(t.Trunk)
		if of.Free(t.VLAN); of.Len() == 0 && len(h.vlans) > maximumIdleTrunks {
			delete(h.vlans, t.Trunk)
		}
	}
}

// markAddress marks the address of a row of a pool. If it is in no range of the pool, it marks it in all pools that could allocate it.
func (h *hints) markAddress(name string, address netip.Addr, used bool) {
	own := h.pools[name]
	if own != nil && own.find(address) >= 0 {
		own.mark(address, used || len(h.outside[address]) > 0)
		return
	}
	names := slices.DeleteFunc(h.outside[address], func(other string) bool { return other == name })
	if used {
		names = append(names, name)
	}
	if h.outside[address] = names; len(names) == 0 {
		delete(h.outside, address)
	}
	for _, of := range h.pools {
		if of == own || of.find(address) >= 0 {
			of.mark(address, len(names) > 0)
		}
	}
}

func (h *hints) trunk(t network.Trunk) *allocator.VLANs {
	if h.vlans[t] == nil {
		h.vlans[t] = allocator.NewVLANs()
	}
	return h.vlans[t]
}

// maximumIdleTrunks limits the stored trunks without VLANs. They are stored so that a released VLAN is not chosen next.
const maximumIdleTrunks = 4096

// replace takes over the hints of a scan at a revision. Rows that were applied since noteChanges become uncertain. The search for free
// resources continues where it was.
func (h *hints) replace(fresh *hints, revision int64) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
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
	h.revision = max(h.revision, revision)
	h.rebuilds++
	for key, own := range h.ownCommits {
		if own <= h.revision {
			delete(h.ownCommits, key)
		}
	}
	maps.Copy(h.uncertain, h.changed)
}

func (h *hints) pool(name string) *pool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.pools[name]
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
	h.mutex.Lock()
	defer h.mutex.Unlock()
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

// tombstoneLife is the time for which the release of an owner is remembered, so that a request that was sent before the
// release and arrives late does not allocate again.
const tombstoneLife = 10 * time.Minute

func tombstoneKey(owner network.Owner) string { return prefixTombstone + owner.String() }

// tombstone returns the row with the time of an owner's release.
func tombstone(released time.Time) []byte { return []byte(released.UTC().Format(time.RFC3339Nano)) }

func parseTombstone(value []byte) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, string(value))
}
