// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"container/list"
	"sync"
)

// cache keeps the values that were used last. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	mutex   sync.Mutex
	size    int
	entries map[K]*list.Element // of entry[K, V]
	recent  *list.List          // the most recently used in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newCache[K comparable, V any](size int) *cache[K, V] {
	return &cache[K, V]{size: size, entries: map[K]*list.Element{}, recent: list.New()}
}

// get returns the value for the key, made if it is not there. Two callers may make it at the same time; all get the same one. Errors are
// not kept.
func (c *cache[K, V]) get(key K, make func() (V, error)) (V, error) {
	if value, ok := c.lookup(key); ok {
		return value, nil
	}
	value, err := make()
	if err != nil {
		return value, err
	}
	return c.store(key, value), nil
}

func (c *cache[K, V]) lookup(key K) (V, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	element, ok := c.entries[key]
	if !ok {
		var none V
		return none, false
	}
	c.recent.MoveToFront(element)
	return element.Value.(entry[K, V]).value, true
}

// store keeps the value unless another caller was faster, and returns the one that is kept.
func (c *cache[K, V]) store(key K, value V) V {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if element, ok := c.entries[key]; ok {
		return element.Value.(entry[K, V]).value
	}
	c.entries[key] = c.recent.PushFront(entry[K, V]{key, value})
	if c.recent.Len() > c.size {
		oldest := c.recent.Back()
		c.recent.Remove(oldest)
		delete(c.entries, oldest.Value.(entry[K, V]).key)
	}
	return value
}

func (c *cache[K, V]) len() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.recent.Len()
}
