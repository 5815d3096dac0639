// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Query selects allocations; empty fields match all.
type Query struct {
	Pool string `json:"pool,omitempty"`
	// Owner is <contract>/<key>, or its beginning and a star.
	Owner   string        `json:"owner,omitempty"`
	Address netip.Addr    `json:"address,omitzero"`
	State   network.State `json:"state,omitempty"`
	// Node and Namespace belong to the holder; Node also matches the node of the trunk.
	Node      string `json:"node,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Before is the time before which it was chosen.
	Before time.Time `json:"before,omitzero"`
}

// Search calls each for the allocations that match, in the order of their owners, until it returns an error. In the
// state Quarantined it calls each for resources in quarantine, and for a query by address for both. It fails for an
// unreadable row.
func Search(ctx context.Context, store Store, q Query, each func(Entry) error) error {
	if err := CheckFormat(ctx, store); err != nil {
		return err
	}
	prefixes := []string{prefixOwner + strings.TrimSuffix(q.Owner, "*")}
	if q.State == network.Quarantined {
		prefixes = []string{prefixAddress, prefixMAC, prefixVLAN}
	} else if q.includesQuarantine() {
		prefixes = append(prefixes, prefixAddress)
	}
	for _, prefix := range prefixes {
		err := scan(ctx, store, prefix, func(e Entry) error {
			if !q.matches(e) {
				return nil
			}
			return each(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scan reads rows. It fails for an unreadable row, or if each fails.
func scan(ctx context.Context, store Store, prefix string, each func(Entry) error) error {
	return store.Scan(ctx, prefix, func(key, value []byte) error {
		e, err := ReadEntry(key, value)
		if err != nil {
			return &BrokenRow{Key: string(key), Err: err}
		}
		return each(e)
	})
}

// BrokenRow is the error of a row that cannot be read.
type BrokenRow struct {
	Key string
	Err error
}

// Error implements error.
func (b *BrokenRow) Error() string {
	return fmt.Sprintf("reading the row %s: %s; `graft ledger verify` lists all errors", b.Key, b.Err)
}

// Unwrap returns the cause.
func (b *BrokenRow) Unwrap() error { return b.Err }

// includesQuarantine reports whether the query includes resources in quarantine, as each query by address does.
func (q Query) includesQuarantine() bool {
	return q.State == network.Quarantined || q.Address.IsValid() && q == Query{Pool: q.Pool, Address: q.Address}
}

// matches reports whether the query selects an entry. A resource in quarantine has no owner, so that only pool and
// address can match.
func (q Query) matches(e Entry) bool {
	if e.Allocation == nil {
		return q.includesQuarantine() && !e.Until.IsZero() && !e.Record &&
			(q.Pool == "" || e.Resource.Pool == q.Pool) && (!q.Address.IsValid() || e.Resource.Address == q.Address)
	}
	a := e.Allocation
	return q.matchesOwner(a.Owner) && q.matchesHolder(a) &&
		(q.Pool == "" || a.Pool == q.Pool) &&
		(!q.Address.IsValid() || slices.Contains(a.Addresses, q.Address)) &&
		(q.State == "" || a.State == q.State) &&
		(q.Before.IsZero() || a.Since.Before(q.Before))
}

func (q Query) matchesOwner(owner network.Owner) bool {
	beginning, begins := strings.CutSuffix(q.Owner, "*")
	return q.Owner == "" || owner.String() == q.Owner || begins && strings.HasPrefix(owner.String(), beginning)
}

func (q Query) matchesHolder(a *network.Allocation) bool {
	return (q.Node == "" || a.Holder.Node == q.Node || a.Trunk.Node == q.Node) && (q.Namespace == "" || a.Holder.Namespace == q.Namespace)
}

// Find returns the allocation of an owner in a store. The error wraps network.ErrNotHeld if there is none.
func Find(ctx context.Context, store Store, owner network.Owner) (network.Allocation, error) {
	a, _, err := find(ctx, store, owner)
	return a, err
}

// MarkReleasing records in a store that an owner has released its allocation. The next server that opens the store
// completes the release and calls the cloud. The error wraps network.ErrNotHeld if there is no allocation.
func MarkReleasing(ctx context.Context, store Store, owner network.Owner) (a network.Allocation, err error) {
	if err := CheckFormat(ctx, store); err != nil {
		return a, err
	}
	err = retry(ctx, func(int) error {
		var raw, marked []byte
		if a, raw, err = find(ctx, store, owner); err != nil {
			return err
		}
		a.State = network.Releasing
		if marked, err = encode(a); err != nil {
			return err
		}
		return wrapWriting(store.Commit(ctx, Change{Key: ownerKey(owner), Was: raw, Value: marked}))
	})
	return a, err
}

// Walk calls each for the rows with allocations, resources and records, in the order of their keys, or with a BrokenRow
// for an unreadable one, until it returns an error. even reports that owners' rows and resources' rows are consistent;
// it compares sums of hashes.
func Walk(ctx context.Context, store Store, each func(Entry, *BrokenRow) error) (even bool, err error) {
	seed, listed, held := maphash.MakeSeed(), uint64(0), uint64(0)
	err = store.Scan(ctx, "", func(key, value []byte) error {
		if string(key) == keyFormat {
			return nil
		}
		e, err := ReadEntry(key, value)
		switch {
		case err != nil:
			return each(e, &BrokenRow{Key: e.Key, Err: err})
		case e.Internal:
			return nil
		case e.Allocation != nil:
			for _, key := range resourceKeys(*e.Allocation) {
				listed += maphash.String(seed, key+"="+e.Owner.String())
			}
		case !e.Record && e.Until.IsZero():
			held += maphash.String(seed, e.Key+"="+e.Owner.String())
		}
		return each(e, nil)
	})
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	return listed == held, nil
}
