// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package record stores rows of other packages in the ledger's store, so that all persistent state of a server is in
// one place, and is exported, imported and verified together. A row is a JSON value under record/<node>/<table>/<key>.
// The rows of a node have one writer; writes by other processes are detected.
//
// The meaning of the values and concrete stores are unknown to it. Start reading at New.
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrStale means that another process has changed a row since this process read it. The caller must read it again.
var ErrStale = errors.New("another process has changed the row since it was read")

// Table holds rows of one kind. It is safe for concurrent use; a caller that reads a row to write it must exclude other
// writers of the process itself.
type Table[T any] struct {
	store  ledger.Store
	prefix string

	seed maphash.Seed
	// locks are held by key while a row is read or written, so that seen follows the order of the store.
	locks [256]sync.Mutex
	// mutex guards seen, which are the rows as this process has read or written them last, nil where there was none, and absent, how many those are.
	// A row that is not in it is read before it is written.
	mutex  sync.Mutex
	seen   map[string][]byte
	absent int
}

// maximumAbsent bounds how many rows are remembered as not there.
const maximumAbsent = 1024

// New makes a table of a node; empty: the only one. The name of the table must have no slash.
func New[T any](store ledger.Store, node, table string) *Table[T] {
	return &Table[T]{store: store, prefix: ledger.RecordPrefix(node, table), seed: maphash.MakeSeed(), seen: map[string][]byte{}}
}

// lock locks a row by its key. The returned function unlocks it.
func (t *Table[T]) lock(key string) func() {
	m := &t.locks[maphash.String(t.seed, key)%uint64(len(t.locks))]
	m.Lock()
	return m.Unlock
}

// note keeps how a row was seen; nil: it is not there.
func (t *Table[T]) note(key string, raw []byte) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.drop(key)
	if raw == nil {
		t.absent++
	}
	if t.seen[key] = raw; t.absent > maximumAbsent {
		maps.DeleteFunc(t.seen, func(_ string, raw []byte) bool { return raw == nil })
		t.absent = 0
	}
}

// forget marks the content of a row as unknown.
func (t *Table[T]) forget(key string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.drop(key)
}

// drop works like forget for a caller that holds the mutex.
func (t *Table[T]) drop(key string) {
	if raw, known := t.seen[key]; known && raw == nil {
		t.absent--
	}
	delete(t.seen, key)
}

// last returns the last known content of a row, and reads it if it is unknown.
func (t *Table[T]) last(ctx context.Context, key string) ([]byte, error) {
	t.mutex.Lock()
	raw, known := t.seen[key]
	t.mutex.Unlock()
	if known {
		return raw, nil
	}
	raw, err := t.store.Get(ctx, t.prefix+key)
	if err != nil {
		return nil, fmt.Errorf("reading the row %s: %w", t.prefix+key, err)
	}
	return raw, nil
}

// Get returns the value of a row, or false if there is none.
func (t *Table[T]) Get(ctx context.Context, key string) (value T, ok bool, err error) {
	defer t.lock(key)()
	raw, err := t.store.Get(ctx, t.prefix+key)
	if err != nil {
		return value, false, fmt.Errorf("reading the row %s: %w", t.prefix+key, err)
	}
	t.note(key, raw)
	if raw == nil {
		return value, false, nil
	}
	value, err = t.decode(key, raw)
	return value, err == nil, err
}

// Put creates or replaces a row. The error wraps ErrStale, and ledger.ErrConflict, when another process has changed it since it was seen here; then
// it does so until the row is read again.
func (t *Table[T]) Put(ctx context.Context, key string, value T) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the row %s: %w", t.prefix+key, err)
	}
	return t.write(ctx, key, raw)
}

// Delete removes a row; one that is not there is no error. It wraps ErrStale as Put does.
func (t *Table[T]) Delete(ctx context.Context, key string) error { return t.write(ctx, key, nil) }

// write commits a row compared with its last known content. After an error other than a conflict, its content is
// unknown.
func (t *Table[T]) write(ctx context.Context, key string, raw []byte) error {
	if key == "" {
		return fmt.Errorf("writing a row of %s: it has no key", t.prefix)
	}
	defer t.lock(key)()
	was, err := t.last(ctx, key)
	if err != nil || bytes.Equal(was, raw) && (was == nil) == (raw == nil) {
		return err
	}
	err = t.store.Commit(ctx, ledger.Change{Key: t.prefix + key, Was: was, Value: raw})
	if err == nil {
		t.note(key, raw)
		return nil
	}
	if errors.Is(err, ledger.ErrConflict) {
		err = fmt.Errorf("%w: %w", ErrStale, err)
	} else {
		t.forget(key)
	}
	return fmt.Errorf("writing the row %s: %w", t.prefix+key, err)
}

// All calls each for all rows in the order of their keys until it returns an error. Rows written concurrently may be
// missing; each may change the table.
func (t *Table[T]) All(ctx context.Context, each func(key string, value T) error) error {
	type row struct {
		key string
		raw []byte
	}
	var rows []row
	err := t.store.Scan(ctx, t.prefix, func(key, raw []byte) error {
		rows = append(rows, row{string(key[len(t.prefix):]), bytes.Clone(raw)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the rows %s: %w", t.prefix, err)
	}
	for _, r := range rows {
		value, err := t.decode(r.key, r.raw)
		if err != nil {
			return err
		}
		if err := each(r.key, value); err != nil {
			return err
		}
	}
	return nil
}

// Rows returns all rows by key.
func (t *Table[T]) Rows(ctx context.Context) (map[string]T, error) {
	rows := map[string]T{}
	err := t.All(ctx, func(key string, row T) error {
		rows[key] = row
		return nil
	})
	return rows, err
}

// decode parses a value and fails for unknown fields: a newer version of Graft may have written them, and this version
// would drop them on the next write.
func (t *Table[T]) decode(key string, raw []byte) (value T, err error) {
	if err = ledger.DecodeStrictly(bytes.NewReader(raw), &value); err != nil {
		return value, &ledger.BrokenRow{Key: t.prefix + key, Err: err}
	}
	return value, nil
}
