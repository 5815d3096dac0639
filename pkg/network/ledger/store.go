// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
)

// ErrConflict says that a row is not as a change expects it; nothing of the commit was done then.
var ErrConflict = errors.New("a row has changed")

// Store keeps rows. All its methods are safe for concurrent use.
type Store interface {
	// Commit makes all changes durable, or none of them. It returns when they would survive a loss of power, or an error that wraps
	// ErrConflict when a row is not as expected. After any other error it is not known whether they were made.
	Commit(ctx context.Context, changes ...Change) error
	// Get is the value of a row; nil when there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Scan calls each for all rows whose keys begin with the prefix, in the order of the keys, until it returns an error. Neither
	// key nor value may be kept.
	Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error
	// Close ends the store when all that was begun is done.
	Close() error
}

// Change is what a commit does with one row.
type Change struct {
	Key string
	// Was is the value that the row must have; nil: there must be none.
	Was []byte
	// Value is the new one; nil removes the row.
	Value []byte
}
