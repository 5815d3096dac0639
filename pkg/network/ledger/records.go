// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// nobody replaces the node in keys if there is only one.
const nobody = "-"

// RecordPrefix begins the keys of the records of a table of a node; empty: the only node.
func RecordPrefix(node, table string) string {
	if node == "" {
		node = nobody
	}
	return prefixRecord + node + "/" + table + "/"
}

// isRecord reports whether a key is that of a record.
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

// HasRecords reports whether a store contains records.
func HasRecords(ctx context.Context, store Store) (bool, error) {
	stop := errors.New("a record")
	err := store.Scan(ctx, prefixRecord, func(_, _ []byte) error { return stop })
	if errors.Is(err, stop) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	return false, nil
}

// RecordRow returns the change that creates a record.
func RecordRow(key string, value []byte) (Change, error) {
	if !isRecord(key) {
		return Change{}, errors.New("the key of a record begins with " + prefixRecord)
	}
	return Change{Key: key, Value: value}, checkRecord(key, value)
}
