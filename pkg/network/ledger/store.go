// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"time"
)

// ErrConflict means that a row does not have the expected value. Nothing of the commit was written.
var ErrConflict = errors.New("a row has changed")

// Store keeps rows. All its methods are safe for concurrent use.
type Store interface {
	// Commit makes all changes durable, or none of them. When it returns nil, they survive a power failure. The error
	// wraps ErrConflict if a row differs from the expected one. After any other error, the outcome is unknown.
	Commit(ctx context.Context, changes ...Change) error
	// Get returns the value of a row, or nil if there is none. It fails if the store cannot be read.
	Get(ctx context.Context, key string) ([]byte, error)
	// Scan calls each for all rows with the prefix, in the order of their keys, until it returns an error. Callers must
	// not keep key or value.
	Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error
	// Close closes the store after all running calls have ended. It fails if files or connections cannot be closed.
	Close() error
}

// Change is the effect of a commit on one row. A commit has only one change for each row: see Distinct.
type Change struct {
	Key string
	// Was is the value that the row must have; nil: there must be none.
	Was []byte
	// Value is the new value; nil removes the row. The store keeps no reference to it after Commit.
	Value []byte
}

// ErrDuplicateKey means that a commit has two changes of one row. Nothing of the commit was written.
var ErrDuplicateKey = errors.New("a row is changed twice in one commit")

// CheckDistinct returns ErrDuplicateKey if two changes concern the same row. Every store calls it before a commit, because the
// result of such changes would depend on the store.
func CheckDistinct(changes []Change) error {
	seen := make(map[string]struct{}, len(changes))
	for i := range changes {
		seen[changes[i].Key] = struct{}{}
	}
	if len(seen) < len(changes) {
		return ErrDuplicateKey
	}
	return nil
}

// Limiter is a store that limits the number of changes in one commit. It returns ErrTooLarge for more.
type Limiter interface {
	// Limit is how many changes a commit may have.
	Limit() int
}

// ErrTooLarge is returned for a commit with more changes or bytes than the store accepts; it has no effect.
var ErrTooLarge = errors.New("the commit is larger than the store accepts")

// Batch returns the best number of rows per commit for very many rows.
func Batch(s Store) int { return atMost(s, 256) }

// atMost returns a number of changes, or the limit of the store if that is lower.
func atMost(s Store, changes int) int {
	if limiter, ok := s.(Limiter); ok {
		return min(changes, limiter.Limit())
	}
	return changes
}

// Watcher is a store shared by several servers that reports commits. Each commit has a revision greater than all before
// it.
type Watcher interface {
	// CommitAt works and fails like Commit, and returns the revision.
	CommitAt(ctx context.Context, changes ...Change) (int64, error)
	// Watch reports commits of all servers to an observer, in the order of the revisions, until ctx ends or the store
	// is closed, and returns the reason as an error. It reconnects automatically. It calls one method at a time.
	Watch(ctx context.Context, to Observer) error
}

// Leaser is a store shared by several servers that hold a lease each. The row ServerKey(Server()) exists as long as the
// lease does.
type Leaser interface {
	// Server returns the identifier of this process. It changes if the lease was lost.
	Server() string
	// Lease returns for how long the lease is certain to last; 0 if it may be lost.
	Lease() time.Duration
}

// Observer receives the commits to a store.
type Observer interface {
	// Begin is called first, and again if changes may be missing: scan lists all rows at the revision. Change has later
	// commits. If it fails, because scan did, it is called again.
	Begin(revision int64, scan func(each func(key string, value []byte) error) error) error
	// Change reports the value of a row since the revision; nil means that it was removed.
	Change(revision int64, key string, value []byte)
}
