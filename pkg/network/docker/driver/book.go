// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
)

// book is a table with a complete cache in memory. Only this machine writes the rows.
type book[T any] struct {
	table *record.Table[T]
	name  string
	// changed is called with each new row, and with nil for a deleted one, while the mutex is held. It may be
	// nil.
	changed func(key string, row *T)

	// loading is held during the first read of the rows.
	loading sync.Mutex
	mutex   sync.RWMutex
	rows    map[string]T
	// doubts has the keys of rows whose last write has an unknown result.
	doubts map[string]bool
}

func newBook[T any](o Options, name string) *book[T] {
	return &book[T]{table: record.New[T](o.Store, o.Node, name), name: name, doubts: map[string]bool{}}
}

// load reads the rows on first use.
func (b *book[T]) load(ctx context.Context) error {
	b.loading.Lock()
	defer b.loading.Unlock()
	b.mutex.RLock()
	loaded := b.rows != nil
	b.mutex.RUnlock()
	if loaded {
		return nil
	}
	rows := map[string]T{}
	err := b.table.All(ctx, func(key string, row T) error {
		rows[key] = row
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the rows of table %s: %w", b.name, err)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.rows = rows
	for key, row := range rows {
		b.tell(key, &row)
	}
	return nil
}

func (b *book[T]) tell(key string, row *T) {
	if b.changed != nil {
		b.changed(key, row)
	}
}

// get returns a row.
func (b *book[T]) get(ctx context.Context, key string) (row T, ok bool, err error) {
	if err := b.load(ctx); err != nil {
		return row, false, err
	}
	if err := b.settle(ctx, key); err != nil {
		return row, false, err
	}
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	row, ok = b.rows[key]
	return row, ok, nil
}

// settle reads a row again if its last write has an unknown result.
func (b *book[T]) settle(ctx context.Context, key string) error {
	b.mutex.RLock()
	doubted := b.doubts[key]
	b.mutex.RUnlock()
	if !doubted {
		return nil
	}
	row, ok, err := b.table.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("reading a row of table %s: %w", b.name, err)
	}
	b.note(key, row, ok)
	return nil
}

// note updates the cache with a row.
func (b *book[T]) note(key string, row T, there bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.doubts, key)
	if !there {
		delete(b.rows, key)
		b.tell(key, nil)
		return
	}
	b.rows[key] = row
	b.tell(key, &row)
}

func (b *book[T]) doubt(key string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.doubts[key] = true
}

// put writes a row. The caller holds the row's lock.
func (b *book[T]) put(ctx context.Context, key string, row T) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	if err := b.table.Put(ctx, key, row); err != nil {
		b.doubt(key)
		return fmt.Errorf("writing a row of table %s: %w", b.name, err)
	}
	b.note(key, row, true)
	return nil
}

// remove deletes a row. The caller holds its lock.
func (b *book[T]) remove(ctx context.Context, key string) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	if err := b.table.Delete(ctx, key); err != nil {
		b.doubt(key)
		return fmt.Errorf("deleting a row of table %s: %w", b.name, err)
	}
	var none T
	b.note(key, none, false)
	return nil
}

// keys returns the sorted keys of all rows.
func (b *book[T]) keys(ctx context.Context) ([]string, error) {
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	b.mutex.RLock()
	doubts := slices.Collect(maps.Keys(b.doubts))
	b.mutex.RUnlock()
	for _, key := range doubts {
		if err := b.settle(ctx, key); err != nil {
			return nil, err
		}
	}
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	return slices.Sorted(maps.Keys(b.rows)), nil
}

// all returns the rows by key.
func (b *book[T]) all(ctx context.Context) (map[string]T, error) {
	if _, err := b.keys(ctx); err != nil {
		return nil, err
	}
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	return maps.Clone(b.rows), nil
}
