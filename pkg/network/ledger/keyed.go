// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"hash/maphash"
	"sync"
)

// keyed is a lock for each key. Keys share a fixed number of locks: two that share one wait for each other, which is rare.
type keyed struct {
	seed  maphash.Seed
	once  sync.Once
	locks [8192]sync.Mutex
}

// lock locks the key; what it returns unlocks it.
func (k *keyed) lock(key string) func() {
	k.once.Do(func() { k.seed = maphash.MakeSeed() })
	m := &k.locks[maphash.String(k.seed, key)%uint64(len(k.locks))]
	m.Lock()
	return m.Unlock
}
