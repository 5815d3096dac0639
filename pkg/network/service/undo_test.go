// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// failing is a store with one failing commit.
type failing struct {
	ledger.Store
	commits atomic.Int64
	fails   int64
}

func (f *failing) Commit(ctx context.Context, changes ...ledger.Change) error {
	if f.commits.Add(1) == f.fails {
		return errBroken
	}
	return f.Store.Commit(ctx, changes...)
}

// TestUndoFails refuses one of three requested allocations while one commit fails: after the next start all are
// present, or none.
func TestUndoFails(t *testing.T) {
	const commits = 8 // more than there are, so that all fail once
	for fails := range int64(commits) {
		t.Run(fmt.Sprint(fails), func(t *testing.T) {
			w := newWorld(t)
			store := &failing{Store: w.commits.Store, fails: fails}
			begin := func() *service.Service {
				var err error
				if w.ledger, err = ledger.Open(t.Context(), store, w.pools...); err != nil {
					t.Fatal(err)
				}
				return service.New(w.ledger, map[string]service.Pool{"plain": {}, "cloudy": {Cloud: w.cloud}}, service.Options{Clock: w.clock})
			}
			w.told(map[string]error{"bind c": fmt.Errorf("%w: no", network.ErrNotSent)})
			if _, err := begin().AllocateAll(t.Context(), request("cloudy", "a"), request("cloudy", "b"), request("cloudy", "c")); err == nil {
				t.Error("the group succeeds although one of three was refused, want an error")
			}
			w.told(nil)
			next := begin()
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() { next.Run(ctx) })
			if err := next.Recover(t.Context()); err != nil {
				t.Error(err)
			}
			cancel()
			group.Wait()
			states := w.states("a", "b", "c")
			if bound := strings.Count(states, "bound"); bound != 0 && bound != 3 {
				t.Errorf("a part is there: %s", states)
			}
		})
	}
}

// unreadable is a store in which one row cannot be read once after a number of commits.
type unreadable struct {
	ledger.Store
	key     string
	commits atomic.Int64
}

func (u *unreadable) Commit(ctx context.Context, changes ...ledger.Change) error {
	u.commits.Add(1)
	return u.Store.Commit(ctx, changes...)
}

func (u *unreadable) Get(ctx context.Context, key string) ([]byte, error) {
	const reservedAndBound = 4
	if key == u.key && u.commits.CompareAndSwap(reservedAndBound, reservedAndBound+1) {
		return nil, fmt.Errorf("%w: an error that is not retried", network.ErrTaken)
	}
	return u.Store.Get(ctx, key)
}

// TestUndoAfterFailedCompletion fails to mark the bound allocations of a request as complete: all of them are undone.
func TestUndoAfterFailedCompletion(t *testing.T) {
	for _, key := range []string{"a", "b", "c"} {
		t.Run("the row of "+key+" cannot be read", func(t *testing.T) {
			w := newWorld(t)
			store := &unreadable{Store: w.commits.Store, key: "owner/test/" + key}
			var err error
			if w.ledger, err = ledger.Open(t.Context(), store, w.pools...); err != nil {
				t.Fatal(err)
			}
			w.Service = service.New(w.ledger, map[string]service.Pool{"cloudy": {Cloud: w.cloud}}, service.Options{Clock: w.clock})
			w.run()
			if _, err := w.AllocateAll(t.Context(), request("cloudy", "a"), request("cloudy", "b"), request("cloudy", "c")); !errors.Is(err, network.ErrTaken) {
				t.Fatalf("got error %v, want %v", err, network.ErrTaken)
			}
			w.eventually("all are released", func() bool { return w.states("a", "b", "c") == "a none, b none, c none" })
		})
	}
}
