// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package record stores rows of other packages in the ledger's store, so that all persistent state of a server is in
// one place, and is exported, imported and verified together. A row is a JSON value under record/<node>/<table>/<key>.
//
// The meaning of the values and concrete stores are unknown to it. Start reading at New.
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrUncertain is wrapped by the error of a commit that may have been made.
var ErrUncertain = errors.New("writing the row failed")

// Table holds rows of one kind. It is safe for concurrent use.
type Table[T any] struct {
	store  ledger.Store
	prefix string
}

// New creates a table of a node; "" is the only node. The name of the table must not contain a slash.
func New[T any](store ledger.Store, node, table string) *Table[T] {
	return &Table[T]{store: store, prefix: ledger.RecordPrefix(node, table)}
}

// Get returns the value of a row, or false if there is none. It fails if the store or the row cannot be read.
func (t *Table[T]) Get(ctx context.Context, key string) (value T, ok bool, err error) {
	raw, err := t.read(ctx, key)
	if err != nil || raw == nil {
		return value, false, err
	}
	value, err = t.decode(key, raw)
	return value, err == nil, err
}

func (t *Table[T]) read(ctx context.Context, key string) ([]byte, error) {
	raw, err := t.store.Get(ctx, t.prefix+key)
	if err != nil {
		return nil, fmt.Errorf("reading the row %s: %w", t.prefix+key, err)
	}
	return raw, nil
}

// Put creates or replaces a row. It fails if the value cannot be encoded or the store fails.
func (t *Table[T]) Put(ctx context.Context, key string, value T) error {
	return t.write(ctx, key, func([]byte) (*T, error) { return &value, nil })
}

// Delete removes a row if it exists. It fails if the store does.
func (t *Table[T]) Delete(ctx context.Context, key string) error {
	return t.write(ctx, key, func([]byte) (*T, error) { return nil, nil })
}

// Update changes a row. change receives its value, or nil if there is none, and returns the new one, or nil to delete
// it. It is called again if another caller has changed the row since. A row that cannot be read can only be deleted.
func (t *Table[T]) Update(ctx context.Context, key string, change func(*T) (*T, error)) error {
	return t.write(ctx, key, func(raw []byte) (*T, error) {
		if raw == nil {
			return change(nil)
		}
		value, broken := t.decode(key, raw)
		if broken == nil {
			return change(&value)
		}
		next, err := change(nil)
		if next != nil && err == nil {
			err = broken
		}
		return next, err
	})
}

// attempts limits how often a change is repeated because others have changed the row.
const attempts = 32

// write commits the value that change makes of the content of a row.
func (t *Table[T]) write(ctx context.Context, key string, change func(raw []byte) (*T, error)) error {
	if key == "" {
		return fmt.Errorf("writing a row of %s: it has no key", t.prefix)
	}
	for range attempts {
		was, err := t.read(ctx, key)
		if err != nil {
			return err
		}
		value, err := change(was)
		if err != nil {
			return err
		}
		var raw []byte
		if value != nil {
			if raw, err = json.Marshal(value); err != nil {
				return fmt.Errorf("encoding the row %s: %w", t.prefix+key, err)
			}
		}
		if bytes.Equal(was, raw) && (was == nil) == (raw == nil) {
			return nil
		}
		err = t.store.Commit(ctx, ledger.Change{Key: t.prefix + key, Was: was, Value: raw})
		if err == nil {
			return nil
		}
		if !errors.Is(err, ledger.ErrConflict) {
			return fmt.Errorf("%w: %s: %w", ErrUncertain, t.prefix+key, err)
		}
	}
	return fmt.Errorf("%w: other processes change the row %s at the same time", network.ErrUnavailable, t.prefix+key)
}

// Rows returns all rows by key. It fails if the store does or a row is unreadable.
func (t *Table[T]) Rows(ctx context.Context) (map[string]T, error) {
	rows := map[string]T{}
	err := t.store.Scan(ctx, t.prefix, func(prefixed, raw []byte) (err error) {
		key := string(prefixed[len(t.prefix):])
		rows[key], err = t.decode(key, raw)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rows %s: %w", t.prefix, err)
	}
	return rows, nil
}

// decode parses a value and fails for unknown fields: a newer version of Graft may have written them, and this version
// would drop them on the next write.
func (t *Table[T]) decode(key string, raw []byte) (value T, err error) {
	if err = ledger.DecodeStrictly(bytes.NewReader(raw), &value); err != nil {
		return value, &ledger.BrokenRow{Key: t.prefix + key, Err: err}
	}
	return value, nil
}
