// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"time"
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

// Change is what a commit does with one row, which no other change of the commit is about: see Distinct.
type Change struct {
	Key string
	// Was is the value that the row must have; nil: there must be none.
	Was []byte
	// Value is the new one; nil removes the row. A store keeps neither: the bytes are the caller's again when Commit has returned.
	Value []byte
}

// ErrTwice says that two changes of a commit are about one row; nothing of it was done then.
var ErrTwice = errors.New("a row is changed twice in one commit")

// Distinct refuses, with ErrTwice, changes of which two are about one row. Every store asks it before it commits: which of the two would hold, and against what
// the second is compared, depends on the store.
func Distinct(changes []Change) error {
	const few = 16 // there are no more in an allocation, and they are compared sooner than entered in a table
	if len(changes) <= few {
		for i := range changes {
			for j := range i {
				if changes[i].Key == changes[j].Key {
					return ErrTwice
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, len(changes))
	for i := range changes {
		seen[changes[i].Key] = struct{}{}
	}
	if len(seen) < len(changes) {
		return ErrTwice
	}
	return nil
}

// Limiter is a store that takes only so many changes in one commit; it refuses more with ErrTooLarge.
type Limiter interface {
	// Limit is how many changes a commit may have.
	Limit() int
}

// ErrTooLarge says that a commit has more changes, or more bytes, than the store takes at once; nothing of it was done then.
var ErrTooLarge = errors.New("it is more than the store takes in one commit")

// Batch is how many rows of a store are best written in one commit where there are very many.
func Batch(s Store) int {
	const enough = 256
	if limiter, ok := s.(Limiter); ok {
		return min(enough, limiter.Limit())
	}
	return enough
}

// Watcher is a store that several servers share, and that tells what is committed. Each commit has a revision, greater than all before it.
type Watcher interface {
	// CommitAt is Commit, and returns the revision.
	CommitAt(ctx context.Context, changes ...Change) (int64, error)
	// Watch tells an observer what any server commits, in the order of the revisions, until ctx ends or the store is closed. It reconnects by
	// itself. It calls one method at a time.
	Watch(ctx context.Context, to Observer) error
}

// Leaser is a store that several servers share, in which each of them holds a lease. The row ServerKey(Server()) exists as long as the lease does.
type Leaser interface {
	// Server returns the identifier of this process. It changes if the lease was lost.
	Server() string
	// Lease returns for how long the lease is certain to last; 0 if it may be lost.
	Lease() time.Duration
}

// Observer is told what is committed to a store. An error of it ends the watch.
type Observer interface {
	// Begin is called first, and again whenever something may have been missed: scan calls each for all rows as they were at the revision.
	// Later commits are told by Change.
	Begin(revision int64, scan func(each func(key string, value []byte) error) error) error
	// Change tells that a row has a value since the revision; nil means that it was removed.
	Change(revision int64, key string, value []byte) error
}
