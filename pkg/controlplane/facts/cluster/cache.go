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

// get returns the value for the key when it is good, else the one that create returns, which takes its place. Two callers may make one at the same
// time. Errors are not kept.
func (c *cache[K, V]) get(key K, good func(V) bool, create func() (V, error)) (V, error) {
	if value, ok := c.lookup(key); ok && good(value) {
		return value, nil
	}
	value, err := create()
	if err == nil {
		c.store(key, value)
	}
	return value, err
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

func (c *cache[K, V]) store(key K, value V) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if element, ok := c.entries[key]; ok {
		element.Value = entry[K, V]{key, value}
		c.recent.MoveToFront(element)
		return
	}
	c.entries[key] = c.recent.PushFront(entry[K, V]{key, value})
	if c.recent.Len() > c.size {
		oldest := c.recent.Back()
		c.recent.Remove(oldest)
		delete(c.entries, oldest.Value.(entry[K, V]).key)
	}
}

func (c *cache[K, V]) remove(key K) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if element, ok := c.entries[key]; ok {
		c.recent.Remove(element)
		delete(c.entries, key)
	}
}
