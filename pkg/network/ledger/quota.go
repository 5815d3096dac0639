// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Quota is how many allocations of a pool a number of owners may hold together. What is released counts until the cloud has confirmed it. It is
// counted in the memory of each server: several servers that share a store may exceed it by what they give out at the same moment.
type Quota struct {
	// Name tells quotas of the pool apart, such as namespace/default.
	Name string
	// Limit is that of allocations, not of addresses.
	Limit int
}

// quotas count allocations by pool and quota. An owner counts once, however often it is noted; one whose allocation counts for nothing takes
// no memory.
type quotas struct {
	counts map[quotaKey]int
	owners map[network.Owner]counted
}

type quotaKey struct{ pool, name string }

// counted is what the allocation of an owner counts for.
type counted struct {
	pool  string
	names []string
	// chosen says that it is known only from a choice, which may not be written.
	chosen bool
}

// note counts an allocation, in the place of what its owner counted for before.
func (q *quotas) note(a network.Allocation) {
	q.drop(a.Owner)
	if len(a.Quotas) == 0 {
		return
	}
	if q.owners == nil {
		q.counts, q.owners = map[quotaKey]int{}, map[network.Owner]counted{}
	}
	q.owners[a.Owner] = counted{pool: a.Pool, names: a.Quotas}
	for _, name := range a.Quotas {
		q.counts[quotaKey{a.Pool, name}]++
	}
}

// choose counts what was chosen for an owner, unless the owner is known to hold something: then the choice is not written.
func (q *quotas) choose(a network.Allocation) {
	if of, known := q.owners[a.Owner]; known && !of.chosen {
		return
	}
	q.note(a)
	if of, counts := q.owners[a.Owner]; counts {
		of.chosen = true
		q.owners[a.Owner] = of
	}
}

// refuse is the opposite of choose.
func (q *quotas) refuse(owner network.Owner) {
	if q.owners[owner].chosen {
		q.drop(owner)
	}
}

// drop counts what an owner holds no more.
func (q *quotas) drop(owner network.Owner) {
	of, known := q.owners[owner]
	if !known {
		return
	}
	delete(q.owners, owner)
	for _, name := range of.names {
		key := quotaKey{of.pool, name}
		if q.counts[key]--; q.counts[key] <= 0 {
			delete(q.counts, key)
		}
	}
}

// check gives the names of the quotas that an intent counts for. The error wraps network.ErrQuota when one of them is used up.
func (q *quotas) check(in Intent) ([]string, error) {
	var names []string
	for _, quota := range in.Quotas {
		if q.counts[quotaKey{in.Pool, quota.Name}] >= quota.Limit {
			return nil, fmt.Errorf("%w: %s may hold %d of the pool %s", network.ErrQuota, quota.Name, quota.Limit, in.Pool)
		}
		if !slices.Contains(names, quota.Name) {
			names = append(names, quota.Name)
		}
	}
	return names, nil
}

// readOwner counts a row of an owner. Those that count for nothing are not decoded, as there may be very many.
func (l *Ledger) readOwner(key string, value []byte) error {
	if !bytes.Contains(value, []byte(`"quotas":`)) {
		return nil
	}
	a, err := decode(value)
	if err != nil {
		return fmt.Errorf("reading the row %s: %w", key, err)
	}
	l.quotas.note(a)
	return nil
}
