// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// group are commits that are made durable together. It alone writes while it lasts.
type group struct {
	db   *pebble.DB
	rows *pebble.Batch
	// stands is what stood before, and nil until that is asked for; written is what commits of this group have done to that, nil where they have
	// removed a row.
	stands  *pebble.Iterator
	written map[string][]byte
	once    *once
}

func newGroup(db *pebble.DB, known *once) *group {
	return &group{db: db, rows: db.NewBatch(), written: map[string][]byte{}, once: known}
}

// add takes up a commit when all rows are as it expects.
func (g *group) add(changes []ledger.Change) error {
	for _, change := range changes {
		stands, err := g.get(change.Key)
		if err != nil {
			return err
		}
		if (stands == nil) != (change.Was == nil) || !bytes.Equal(stands, change.Was) {
			return ledger.ErrConflict
		}
	}
	for _, change := range changes {
		if err := g.write(change); err != nil {
			return err
		}
		g.written[change.Key] = change.Value
	}
	return nil
}

// write takes up a change that holds.
func (g *group) write(c ledger.Change) error {
	switch {
	case c.Value == nil && c.Was == nil:
		return nil
	case c.Value == nil && g.once.removed(c.Key):
		return g.rows.SingleDelete([]byte(c.Key), nil)
	case c.Value == nil:
		return g.rows.Delete([]byte(c.Key), nil)
	case c.Was == nil:
		g.once.written(c.Key, c.Value)
	default:
		g.once.removed(c.Key)
	}
	return g.rows.Set([]byte(c.Key), c.Value, nil)
}

// get is the value of a row, which is to be read before the next is asked for; nil when there is none.
func (g *group) get(key string) ([]byte, error) {
	if value, known := g.written[key]; known {
		return value, nil
	}
	if value, known := g.once.find(key); known {
		return value, nil
	}
	if g.stands == nil {
		var err error
		// Filters of the lowest level are asked too: most rows that a commit expects to be absent are absent.
		if g.stands, err = g.db.NewIter(&pebble.IterOptions{UseL6Filters: true}); err != nil {
			return nil, err
		}
	}
	if !g.stands.SeekPrefixGE([]byte(key)) || string(g.stands.Key()) != key {
		return nil, g.stands.Error()
	}
	value, err := g.stands.ValueAndErr()
	if value == nil && err == nil {
		value = []byte{}
	}
	return value, err
}

// commit makes all of it durable, and ends the group.
func (g *group) commit() error {
	err := errors.Join(g.rows.Commit(pebble.Sync), g.rows.Close())
	if g.stands != nil {
		err = errors.Join(err, g.stands.Close())
	}
	return err
}
