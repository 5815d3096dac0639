// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrImporting says that an import into the store was begun and is not finished.
var ErrImporting = errors.New("an import into the ledger was not finished: repeat it with the same file")

// importing begins the row of the format while an import is under way; the checksum of what is imported follows. No version of Graft
// takes such a store for one that it can use.
const importing = "importing " + format + " "

// readFormat says what the row of the format says; fresh where there is none.
func readFormat(value []byte) (fresh bool, err error) {
	switch {
	case value == nil:
		return true, nil
	case strings.HasPrefix(string(value), importing):
		return false, ErrImporting
	case string(value) != format && string(value) != format1:
		return false, fmt.Errorf("%w: %s, where this one writes %s: use the version that wrote it, or a newer one", ErrFormat, value, format)
	}
	return false, nil
}

// CheckFormat says whether the rows of a store can be read. The error wraps ErrFormat or ErrImporting when they cannot; a store without
// rows can. Nothing is written.
func CheckFormat(ctx context.Context, store Store) error {
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	_, err = readFormat(found)
	return err
}

// Empty says whether a store has no rows but that of the format.
func Empty(ctx context.Context, store Store) (bool, error) {
	stop := errors.New("a row")
	err := store.Scan(ctx, "", func(key, _ []byte) error {
		if string(key) == keyFormat {
			return nil
		}
		return stop
	})
	if errors.Is(err, stop) {
		return false, nil
	}
	return err == nil, err
}

// Importing is the checksum of the import that was begun into a store and is not finished; empty where there is none. The error is that of
// CheckFormat otherwise.
func Importing(ctx context.Context, store Store) (checksum string, err error) {
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return "", fmt.Errorf("reading the ledger: %w", err)
	}
	if _, err := readFormat(found); err != nil && !errors.Is(err, ErrImporting) {
		return "", err
	}
	checksum, marked := strings.CutPrefix(string(found), importing)
	if !marked {
		return "", nil
	}
	return checksum, nil
}

// BeginImport marks a store as one into which the rows with a checksum are imported: nothing opens it until EndImport.
func BeginImport(ctx context.Context, store Store, checksum string) error {
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	if _, err := readFormat(found); err != nil {
		return err
	}
	return wrapWriting(store.Commit(ctx, Change{Key: keyFormat, Was: found, Value: []byte(importing + checksum)}))
}

// EndImport counts the quotas and takes the mark of BeginImport away.
func EndImport(ctx context.Context, store Store, checksum string) error {
	if err := writeCounts(ctx, store); err != nil {
		return wrapWriting(err)
	}
	return wrapWriting(store.Commit(ctx, Change{Key: keyFormat, Was: []byte(importing + checksum), Value: []byte(format)}))
}

// writeCounts makes the rows of all quotas agree with the allocations.
func writeCounts(ctx context.Context, store Store) error {
	changes, err := recount(ctx, store)
	for batch := Batch(store); err == nil && len(changes) > 0; changes = changes[min(batch, len(changes)):] {
		err = store.Commit(ctx, changes[:min(batch, len(changes))]...)
	}
	return err
}
