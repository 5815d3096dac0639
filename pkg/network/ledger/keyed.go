// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// keyed is a lock for each owner. Owners share a fixed number of locks: two that share one wait for each other, which is rare.
type keyed struct {
	seed  maphash.Seed
	once  sync.Once
	locks [8192]sync.Mutex
}

// lock locks the owners, always in the same order; what it returns unlocks them.
func (k *keyed) lock(owners ...network.Owner) func() {
	k.once.Do(func() { k.seed = maphash.MakeSeed() })
	if len(owners) == 1 {
		one := &k.locks[k.of(owners[0])]
		one.Lock()
		return one.Unlock
	}
	chosen := make([]uint64, len(owners))
	for i, owner := range owners {
		chosen[i] = k.of(owner)
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

func (k *keyed) of(owner network.Owner) uint64 {
	return maphash.Comparable(k.seed, owner) % uint64(len(k.locks))
}
