// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"hash/maphash"
	"slices"
	"sync"
)

// keyed is a lock for each key. Keys share a fixed number of locks: two that share one wait for each other, which is rare.
type keyed struct {
	seed  maphash.Seed
	once  sync.Once
	locks [8192]sync.Mutex
}

// lock locks the keys, always in the same order; what it returns unlocks them.
func (k *keyed) lock(keys ...string) func() {
	k.once.Do(func() { k.seed = maphash.MakeSeed() })
	chosen := make([]uint64, len(keys))
	for i, key := range keys {
		chosen[i] = maphash.String(k.seed, key) % uint64(len(k.locks))
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	for _, i := range chosen {
		k.locks[i].Lock()
	}
	return func() {
		for _, i := range chosen {
			k.locks[i].Unlock()
		}
	}
}
