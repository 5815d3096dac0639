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

// Lock locks keys in ascending order, which cannot deadlock with another call. It returns the function that unlocks them, or the error of ctx.
func (k *KeyedLocks[K]) Lock(ctx context.Context, keys ...K) (unlock func(), err error) {
	var releases []func()
	unlock = func() {
		for _, release := range slices.Backward(releases) {
			release()
		}
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		lock := k.addUser(key, 1)
		if err := lock.Acquire(ctx, 1); err != nil {
			k.addUser(key, -1)
			unlock()
			return nil, err
		}
		releases = append(releases, func() {
			lock.Release(1)
			k.addUser(key, -1)
		})
	}
	return unlock, nil
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
		of = &keyedLock{Weighted: semaphore.NewWeighted(1)}
		k.locks[key] = of
	}
	if of.users += change; of.users == 0 {
		delete(k.locks, key)
	}
	return of
}
