// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrImporting means that an import into the store is unfinished.
var ErrImporting = errors.New("an import into the ledger was not finished: repeat it with the same file")

// ErrNotEmpty is returned for an import into a ledger that has rows.
var ErrNotEmpty = errors.New("the ledger is not empty")

// importing is the beginning of the format row during an import; the checksum of the archive follows. No version of
// Graft uses such a store.
const importing = "importing " + format + " "

// readFormat parses the format row; fresh reports that there is none.
func readFormat(value []byte) (fresh bool, err error) {
	switch {
	case value == nil:
		return true, nil
	case strings.HasPrefix(string(value), importing):
		return false, ErrImporting
	case string(value) != format:
		return false, fmt.Errorf("%w: %s, but this version writes %s: use the version that wrote it, or a newer one", ErrFormat, value, format)
	}
	return false, nil
}

// CheckFormat returns an error if the rows of a store cannot be read: ErrFormat or ErrImporting. A store without rows
// is valid. It writes nothing.
func CheckFormat(ctx context.Context, store Store) error {
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	_, err = readFormat(found)
	return err
}

// Empty reports whether a store has no rows except the row of the format. It fails if the store does.
func Empty(ctx context.Context, store Store) (bool, error) {
	stop := errors.New("a row")
	err := store.Scan(ctx, "", func(key, _ []byte) error {
		if string(key) == keyFormat {
			return nil
		}
		return stop
	})
	if err != nil && !errors.Is(err, stop) {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	return err == nil, nil
}

// BeginImport marks an empty store as one into which the rows with a checksum are imported: nothing opens it until EndImport. It accepts a
// store with the same mark, from an interrupted import. It fails with ErrNotEmpty, with ErrImporting for another import, or if the store has
// an unknown format or fails.
func BeginImport(ctx context.Context, store Store, checksum string) error {
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	if pending, marked := strings.CutPrefix(string(found), importing); marked && pending == checksum {
		return nil
	} else if marked {
		return fmt.Errorf("%w (its checksum is %s); or begin with an empty ledger", ErrImporting, pending)
	}
	if _, err := readFormat(found); err != nil {
		return err
	}
	if empty, err := Empty(ctx, store); err != nil {
		return err
	} else if !empty {
		return ErrNotEmpty
	}
	return wrapWriting(store.Commit(ctx, Change{Key: keyFormat, Was: found, Value: []byte(importing + checksum)}))
}

// EndImport counts the quotas and takes the mark of BeginImport away. It fails if the store does.
func EndImport(ctx context.Context, store Store, checksum string) error {
	if err := writeCounts(ctx, store); err != nil {
		return wrapWriting(err)
	}
	return wrapWriting(store.Commit(ctx, Change{Key: keyFormat, Was: []byte(importing + checksum), Value: []byte(format)}))
}

// writeCounts makes the rows of all quotas agree with the allocations.
func writeCounts(ctx context.Context, store Store) error {
	counted := newTally()
	for _, prefix := range []string{prefixOwner, prefixQuota} {
		if err := scan(ctx, store, prefix, func(e Entry) error { counted.add(e); return nil }); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(counted.changes(), Batch(store)) {
		if err := store.Commit(ctx, part...); err != nil {
			return err
		}
	}
	return nil
}

// nobody replaces the node's name in the keys of a ledger that serves a single node.
const nobody = "-"

// RecordPrefix begins the keys of the records of a table of a node; empty: the only node.
func RecordPrefix(node, table string) string {
	if node == "" {
		node = nobody
	}
	return prefixRecord + node + "/" + table + "/"
}

// isRecord reports whether a key belongs to a record.
func isRecord(key string) bool { return strings.HasPrefix(key, prefixRecord) }

// checkRecord returns the error of a record's key and form. Only the package that wrote it knows the meaning of its
// value.
func checkRecord(key string, value []byte) error {
	parts := strings.SplitN(strings.TrimPrefix(key, prefixRecord), "/", 3)
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return errors.New("the key of a record is record/<node>/<table>/<key>")
	}
	if !json.Valid(value) {
		return errors.New("the value of a record is not JSON")
	}
	return nil
}

// RecordRow returns the change that creates a record. It fails for a key of another kind of row.
func RecordRow(key string, value []byte) (Change, error) {
	if !isRecord(key) {
		return Change{}, errors.New("the key of a record begins with " + prefixRecord)
	}
	return Change{Key: key, Value: value}, checkRecord(key, value)
}
