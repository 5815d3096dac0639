// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"slices"
	"sync"
)

// locks are exclusive locks by name. Waiting ends with the context.
type locks struct {
	mutex sync.Mutex
	// held has a channel for each held name, which is closed on release.
	held map[string]chan struct{}
}

func newLocks() *locks { return &locks{held: map[string]chan struct{}{}} }

// lock takes all names in sorted order, which avoids deadlocks.
func (l *locks) lock(ctx context.Context, names []string) (unlock func(), err error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	taken := make([]string, 0, len(names))
	for _, name := range names {
		if err := l.one(ctx, name); err != nil {
			l.unlock(taken)
			return nil, err
		}
		taken = append(taken, name)
	}
	return func() { l.unlock(taken) }, nil
}

func (l *locks) one(ctx context.Context, name string) error {
	for {
		l.mutex.Lock()
		free, held := l.held[name]
		if !held {
			l.held[name] = make(chan struct{})
			l.mutex.Unlock()
			return nil
		}
		l.mutex.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *locks) unlock(names []string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, name := range names {
		close(l.held[name])
		delete(l.held, name)
	}
}
