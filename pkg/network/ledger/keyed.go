// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// KeyedLocks has a lock for each key. The zero value is ready to use.
type KeyedLocks[K cmp.Ordered] struct {
	mutex sync.Mutex
	locks map[K]*keyedLock
}

type keyedLock struct {
	*semaphore.Weighted
	// users counts the holders and waiters.
	users int
}

// exclusive is the weight of an exclusive lock: more than all shared locks, which have the weight 1.
const exclusive = 1 << 30

// KeyLock names a lock. Several callers can have a shared one.
type KeyLock[K cmp.Ordered] struct {
	Key    K
	Shared bool
}

// Lock locks keys in ascending order, which cannot deadlock with another call. It returns the function that unlocks them, or the error of ctx.
func (k *KeyedLocks[K]) Lock(ctx context.Context, keys ...K) (unlock func(), err error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	claims := make([]KeyLock[K], len(keys))
	for i, key := range keys {
		claims[i].Key = key
	}
	return k.LockAll(ctx, claims...)
}

// LockAll takes all claimed locks in their order, or none. It returns the function that releases them, or the error of ctx.
func (k *KeyedLocks[K]) LockAll(ctx context.Context, claims ...KeyLock[K]) (release func(), err error) {
	var releases []func()
	release = func() {
		for _, one := range slices.Backward(releases) {
			one()
		}
	}
	for _, c := range claims {
		weight := int64(exclusive)
		if c.Shared {
			weight = 1
		}
		lock := k.addUser(c.Key, 1)
		if err := lock.Acquire(ctx, weight); err != nil {
			k.addUser(c.Key, -1)
			release()
			return nil, err
		}
		releases = append(releases, func() {
			lock.Release(weight)
			k.addUser(c.Key, -1)
		})
	}
	return release, nil
}

// IsLocked reports whether a key is locked.
func (k *KeyedLocks[K]) IsLocked(key K) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.locks[key] != nil
}

// addUser changes the number of users of a lock. A lock without users is dropped.
func (k *KeyedLocks[K]) addUser(key K, change int) *keyedLock {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.locks == nil {
		k.locks = map[K]*keyedLock{}
	}
	of := k.locks[key]
	if of == nil {
		of = &keyedLock{Weighted: semaphore.NewWeighted(exclusive)}
		k.locks[key] = of
	}
	if of.users += change; of.users == 0 {
		delete(k.locks, key)
	}
	return of
}
