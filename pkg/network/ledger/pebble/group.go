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
	rows *pebble.Batch
	// stands is what stood before; written is what commits of this group have done to that, nil where they have removed a row.
	stands  *pebble.Iterator
	written map[string][]byte
}

func newGroup(db *pebble.DB) (*group, error) {
	// Filters of the lowest level are asked too: most rows that a commit expects to be absent are absent.
	stands, err := db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, err
	}
	return &group{rows: db.NewBatch(), stands: stands, written: map[string][]byte{}}, nil
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
		var err error
		if change.Value == nil {
			err = g.rows.Delete([]byte(change.Key), nil)
		} else {
			err = g.rows.Set([]byte(change.Key), change.Value, nil)
		}
		if err != nil {
			return err
		}
		g.written[change.Key] = change.Value
	}
	return nil
}

// get is the value of a row, which is to be read before the next is asked for; nil when there is none.
func (g *group) get(key string) ([]byte, error) {
	if value, known := g.written[key]; known {
		return value, nil
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
	return errors.Join(g.rows.Commit(pebble.Sync), g.stands.Close(), g.rows.Close())
}
