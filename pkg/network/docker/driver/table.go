// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
)

// table is a table of rows with a cache. Only this machine writes the rows. A failed write has an unknown result, so
// that the cache is dropped, and the rows are read from the store until all were read again.
type table[T any] struct {
	rows *record.Table[T]
	// writing is held while a row is written, and exclusively while the cache is loaded.
	writing sync.RWMutex
	mutex   sync.Mutex
	cache   map[string]T
}

func newTable[T any](o Options, name string) *table[T] {
	return &table[T]{rows: record.New[T](o.Store, o.Node, name)}
}

// get returns a row.
func (t *table[T]) get(ctx context.Context, key string) (row T, ok bool, err error) {
	t.mutex.Lock()
	cached := t.cache != nil
	row, ok = t.cache[key]
	t.mutex.Unlock()
	if cached {
		return row, ok, nil
	}
	if row, ok, err = t.rows.Get(ctx, key); err != nil {
		return row, false, fmt.Errorf("reading a row: %w", err)
	}
	return row, ok, nil
}

// all returns the rows by key.
func (t *table[T]) all(ctx context.Context) (map[string]T, error) {
	t.mutex.Lock()
	rows := maps.Clone(t.cache)
	t.mutex.Unlock()
	if rows != nil {
		return rows, nil
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	rows = map[string]T{}
	err := t.rows.All(ctx, func(key string, row T) error {
		rows[key] = row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rows: %w", err)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.cache = maps.Clone(rows)
	return rows, nil
}

// put writes a row. The caller holds the row's lock.
func (t *table[T]) put(ctx context.Context, key string, row T) error {
	return t.write(func() error { return t.rows.Put(ctx, key, row) }, func() { t.cache[key] = row })
}

// remove deletes a row. The caller holds its lock.
func (t *table[T]) remove(ctx context.Context, key string) error {
	return t.write(func() error { return t.rows.Delete(ctx, key) }, func() { delete(t.cache, key) })
}

// write changes the store and then the cache.
func (t *table[T]) write(store func() error, cache func()) error {
	t.writing.RLock()
	defer t.writing.RUnlock()
	err := store()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch {
	case err != nil:
		t.cache = nil
		return fmt.Errorf("writing a row: %w", err)
	case t.cache != nil:
		cache()
	}
	return nil
}
