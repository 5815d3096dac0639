// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// atOnce is how many commits are under way: a store makes them durable together.
const atOnce = 32

// batch is what one commit writes: every row once.
type batch struct {
	items []Item
	rows  []ledger.Change
	keys  map[string]bool
}

// fits says whether a line may be added: one that has a row again must come after.
func (b *batch) fits(item Item, maximum int) bool {
	if len(b.items) == 0 {
		return true
	}
	for _, row := range item.Rows {
		if b.keys[row.Key] {
			return false
		}
	}
	return len(b.rows)+len(item.Rows) <= maximum
}

func (b *batch) add(item Item) {
	if b.keys == nil {
		b.keys = map[string]bool{}
	}
	b.items = append(b.items, item)
	b.rows = append(b.rows, item.Rows...)
	for _, row := range item.Rows {
		b.keys[row.Key] = true
	}
}

// batches hands out the lines up to one, or all when it is 0, in batches, several at a time. Last is the last line that was handed out. An error
// ends the reading, and breaks off no batch that is under way: so that whatever is written is there when this returns.
func (m *importer) batches(ctx context.Context, step string, until int, each func(batch) error) (last int, err error) {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	maximum := ledger.Batch(m.store)
	var next batch
	hand := func() {
		full := next
		next = batch{}
		last = full.items[len(full.items)-1].Line
		group.Go(func() error { return each(full) })
	}
	enough := errors.New("enough")
	_, err = m.each(inner, step, func(item Item) error {
		if until != 0 && item.Line > until {
			return enough
		}
		if !next.fits(item, maximum) {
			hand()
		}
		next.add(item)
		return nil
	})
	if err == nil || errors.Is(err, enough) {
		if err = nil; len(next.items) > 0 {
			hand()
		}
	}
	// What a commit says comes before what it made of the reading.
	if failed := group.Wait(); failed != nil {
		return last, failed
	}
	return last, err
}

// write commits all lines. The error is a Conflict where a row is in the way that this import has not written.
func (m *importer) write(ctx context.Context) (last int, err error) {
	return m.batches(ctx, StepWrite, 0, func(b batch) error {
		err := m.store.Commit(ctx, b.rows...)
		if !errors.Is(err, ledger.ErrConflict) && !errors.Is(err, ledger.ErrTooLarge) {
			return err
		}
		for _, item := range b.items {
			if err := m.writeOne(ctx, item); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeOne commits one line that is not there yet: an import that was broken off may have written it.
func (m *importer) writeOne(ctx context.Context, item Item) error {
	err := m.store.Commit(ctx, item.Rows...)
	if !errors.Is(err, ledger.ErrConflict) {
		return err
	}
	written := true
	for _, row := range item.Rows {
		what, same, err := ledger.Stands(ctx, m.store, row)
		switch {
		case err != nil:
			return err
		case what != "" && !same:
			return &Error{item.Line, &Conflict{what}}
		}
		written = written && same
	}
	if !written {
		return &Error{item.Line, &Conflict{"a part of it is in the ledger already"}}
	}
	return nil
}

// undo removes what this import has written, up to a line.
func (m *importer) undo(ctx context.Context, last int) error {
	_, err := m.batches(ctx, StepUndo, last, func(b batch) error {
		var changes []ledger.Change
		for _, row := range b.rows {
			stands, err := m.store.Get(ctx, row.Key)
			if err != nil {
				return err
			}
			if stands != nil && bytes.Equal(stands, row.Value) {
				changes = append(changes, ledger.Change{Key: row.Key, Was: stands})
			}
		}
		if len(changes) == 0 {
			return nil
		}
		return m.store.Commit(ctx, changes...)
	})
	return err
}
