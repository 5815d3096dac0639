// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Import reads an archive and writes it into an empty store, completely or not at all. After an interruption, no
// program opens the store until the import was repeated with the same archive. The store is opened after the check of
// the archive, and the caller closes it. It fails if the archive is invalid, or with ledger.ErrNotEmpty.
func Import(ctx context.Context, into func() (ledger.Store, error), in io.Reader) (Summary, error) {
	c, err := readAll(ctx, in)
	if err == nil && len(c.doubles) > 0 {
		err = &Error{c.doubles[0].line, errors.New(c.doubles[0].String())}
	}
	if err != nil {
		return c.Summary, fmt.Errorf("checking the export: %w", err)
	}
	store, err := into()
	if err != nil {
		return c.Summary, err
	}
	if err := ledger.BeginImport(ctx, store, c.SHA256); err != nil {
		return c.Summary, err
	}
	if err := write(ctx, store, c.rows); err != nil {
		return c.Summary, fmt.Errorf("importing: %w; repeat it with the same file", err)
	}
	return c.Summary, ledger.EndImport(ctx, store, c.SHA256)
}

// parallel is the number of concurrent commits of an import: stores commit several with one flush.
const parallel = 32

func write(ctx context.Context, store ledger.Store, rows []ledger.Change) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for part := range slices.Chunk(rows, ledger.Batch(store)) {
		group.Go(func() error { return commit(ctx, store, part) })
	}
	return group.Wait()
}

// commit writes rows, except those that an interrupted import has written. Rows that the store does not accept together are written one
// by one.
func commit(ctx context.Context, store ledger.Store, rows []ledger.Change) error {
	err := store.Commit(ctx, rows...)
	conflict := errors.Is(err, ledger.ErrConflict)
	if len(rows) > 1 && (conflict || errors.Is(err, ledger.ErrTooLarge)) {
		for i := range rows {
			if err := commit(ctx, store, rows[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if !conflict {
		return err
	}
	value, err := store.Get(ctx, rows[0].Key)
	if err == nil && !bytes.Equal(value, rows[0].Value) {
		err = fmt.Errorf("the ledger has another value for %s", ledger.Describe(rows[0].Key))
	}
	return err
}
