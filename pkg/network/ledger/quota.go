// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Quota limits the allocations of a group of owners in a pool. A released allocation counts until the cloud has
// confirmed it. Each commit that allocates or frees compares and changes the row of the quota, so servers that share a
// store cannot exceed it.
type Quota struct {
	// Name identifies a quota of a pool, such as namespace/default.
	Name string
	// Limit is the number of allocations, not of addresses.
	Limit int
}

func quotaKey(pool, name string) string { return prefixQuota + pool + "/" + name }

func quotaKeys(intents []Intent) []string {
	var keys []string
	for _, in := range intents {
		for _, quota := range in.Quotas {
			keys = append(keys, quotaKey(in.Pool, quota.Name))
		}
	}
	return keys
}

func quotaKeysOf(a network.Allocation) []string {
	keys := make([]string, len(a.Quotas))
	for i, name := range a.Quotas {
		keys[i] = quotaKey(a.Pool, name)
	}
	return keys
}

// count adds an intent's changes of quotas. counts has the values changed for earlier owners of the request.
func (c *choice) count(ctx context.Context, counts map[string][]byte) error {
	for _, quota := range c.in.Quotas {
		if slices.Contains(c.a.Quotas, quota.Name) {
			continue
		}
		c.a.Quotas = append(c.a.Quotas, quota.Name)
		key := quotaKey(c.in.Pool, quota.Name)
		was, counted := counts[key]
		if !counted {
			var err error
			if was, err = c.store.Get(ctx, key); err != nil {
				return fmt.Errorf("reading the ledger: %w", err)
			}
		}
		n, err := parseCount(key, was)
		if err != nil {
			return err
		}
		if n >= quota.Limit {
			return fmt.Errorf("%w: %s may have at most %d allocations in the pool %s", network.ErrQuota, quota.Name, quota.Limit, c.in.Pool)
		}
		counts[key] = formatCount(n + 1)
		c.changes = append(c.changes, Change{Key: key, Was: was, Value: counts[key]})
	}
	return nil
}

// parseCount reads the value of a quota's row; a missing row is zero.
func parseCount(key string, value []byte) (int, error) {
	if value == nil {
		return 0, nil
	}
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 1 || !bytes.Equal(formatCount(n), value) {
		return 0, fmt.Errorf("reading the row %s: it is not the count of a quota", key)
	}
	return n, nil
}

// formatCount returns the value of a quota's row: none for zero.
func formatCount(n int) []byte {
	if n <= 0 {
		return nil
	}
	return []byte(strconv.Itoa(n))
}

// tally compares the rows of quotas with the allocations that count for them.
type tally struct {
	want map[string]int
	have map[string][]byte
}

func newTally() tally { return tally{map[string]int{}, map[string][]byte{}} }

// add counts an allocation for its quotas, or stores the row of a quota for the comparison.
func (t tally) add(e Entry) {
	if e.Allocation != nil {
		for _, key := range quotaKeysOf(*e.Allocation) {
			t.want[key]++
		}
	} else if strings.HasPrefix(e.Key, prefixQuota) {
		t.have[e.Key] = bytes.Clone(e.Value)
	}
}

// changes returns the changes that make the rows of all quotas agree with the allocations.
func (t tally) changes() []Change {
	var changes []Change
	for key, n := range t.want {
		if value := formatCount(n); !bytes.Equal(value, t.have[key]) {
			changes = append(changes, Change{Key: key, Was: t.have[key], Value: value})
		}
	}
	for key, value := range t.have {
		if t.want[key] == 0 {
			changes = append(changes, Change{Key: key, Was: value})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return changes
}

// Usage describes the usage of a pool.
type Usage struct {
	// Size is the number of addresses that can be chosen; 0 if the cloud chooses.
	Size uint64
	// Held and Quarantined are numbers of addresses, including those requested by name. Addresses that rows of other pools name count as held.
	Held, Quarantined uint64
	// Families are the parts of these sums, since each family can be exhausted by itself; none if the cloud chooses.
	Families []FamilyUsage
	// VLANs is the number of VLANs of each trunk, and TakenVLANs how many are used on the trunk that has the fewest left.
	VLANs, TakenVLANs int
}

// FamilyUsage describes the usage of one family; the numbers are as in Usage.
type FamilyUsage struct {
	// Bits is the length of its addresses: 32 or 128.
	Bits                    int
	Size, Held, Quarantined uint64
}
