// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestQuotaAmongServers lets two servers allocate and release under one quota concurrently: it is never exceeded.
func TestQuotaAmongServers(t *testing.T) {
	store := newTelling(t, 0, 0, 0)
	servers := []*ledger.Ledger{follow(t, store), follow(t, store)}
	var group sync.WaitGroup
	var held, most, refused atomic.Int64
	for caller := range 8 {
		group.Go(func() {
			for n := range 25 {
				in := counting(fmt.Sprintf("%d-%d", caller, n), "x")
				_, _, err := servers[caller%2].Reserve(t.Context(), in)
				if errors.Is(err, network.ErrQuota) || errors.Is(err, network.ErrTaken) || errors.Is(err, network.ErrExhausted) {
					refused.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				now := held.Add(1)
				seen := most.Load()
				for now > seen && !most.CompareAndSwap(seen, now) {
					seen = most.Load()
				}
				held.Add(-1)
				if err := servers[(caller+1)%2].Delete(t.Context(), in.Owner, in.Now, in.Now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if most.Load() > 2 || refused.Load() == 0 {
		t.Errorf("up to %d owners had the address at once, and %d requests were refused", most.Load(), refused.Load())
	}
}

// small is a store that takes few rows in one commit, and loses commits after some number of them.
type small struct {
	ledger.Store
	left int
}

func (s *small) Limit() int { return 12 }

func (s *small) Commit(ctx context.Context, changes ...ledger.Change) error {
	if len(changes) > s.Limit() {
		return ledger.ErrTooLarge
	}
	if s.left--; s.left < 0 {
		return errBroken
	}
	return s.Store.Commit(ctx, changes...)
}

// TestRequestsLargerThanACommit writes a request in several commits and undoes it after a failure in the middle.
func TestRequestsLargerThanACommit(t *testing.T) {
	inner, _ := newDoubtful(t)
	store := &small{Store: inner, left: 1000}
	l, err := ledger.Open(t.Context(), store, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	request := func(count int) (intents []ledger.Intent) {
		for i := range count {
			in := intent()
			in.Owner.Key, in.State, in.Grouped = fmt.Sprint(i), network.Intended, true
			intents = append(intents, in)
		}
		return intents
	}
	if _, _, err := l.ReserveAll(t.Context(), request(20)); !errors.Is(err, network.ErrExhausted) || l.Taken("pool") != 0 {
		t.Errorf("more than there are: got error %v, and %d are taken", err, l.Taken("pool"))
	}
	all, _, err := l.ReserveAll(t.Context(), request(9))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Request != all[0].Request || a.Together != all[0].Owner {
			t.Errorf("%s is of the request %d, the first of which is %s", a.Owner, a.Request, a.Together)
		}
	}
}
