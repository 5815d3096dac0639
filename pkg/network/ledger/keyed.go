// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Keyed is a mutex for each key. The zero value is ready to use.
type Keyed[K cmp.Ordered] struct {
	mutex sync.Mutex
	locks map[K]*keyedLock
}

type keyedLock struct {
	held  chan struct{}
	users int
}

// Lock locks keys in ascending order, which cannot deadlock with another call. It returns the function that unlocks them, or the error of ctx.
func (k *Keyed[K]) Lock(ctx context.Context, keys ...K) (unlock func(), err error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	for i, key := range keys {
		select {
		case k.enter(key).held <- struct{}{}:
		case <-ctx.Done():
			k.leave(key)
			k.release(keys[:i])
			return nil, ctx.Err()
		}
	}
	return func() { k.release(keys) }, nil
}

// Held reports whether a key is locked.
func (k *Keyed[K]) Held(key K) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.locks[key] != nil
}

func (k *Keyed[K]) enter(key K) *keyedLock {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.locks == nil {
		k.locks = map[K]*keyedLock{}
	}
	if k.locks[key] == nil {
		k.locks[key] = &keyedLock{held: make(chan struct{}, 1)}
	}
	k.locks[key].users++
	return k.locks[key]
}

func (k *Keyed[K]) release(keys []K) {
	for _, key := range keys {
		k.mutex.Lock()
		lock := k.locks[key]
		k.mutex.Unlock()
		<-lock.held
		k.leave(key)
	}
}

func (k *Keyed[K]) leave(key K) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.locks[key].users--; k.locks[key].users == 0 {
		delete(k.locks, key)
	}
}
