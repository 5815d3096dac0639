// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

func all(network.Allocation) bool { return true }

// TestConfigureExcludesOldChoice checks that a choice from the old pools is not written under new pools that exclude it.
func TestConfigureExcludesOldChoice(t *testing.T) {
	store, _ := newDoubtful(t)
	slow := &between{Store: store}
	l, err := ledger.Open(t.Context(), slow, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	var (
		group    sync.WaitGroup
		stranded []network.Allocation
	)
	slow.before = func() {
		group.Go(func() {
			var err error
			if stranded, err = l.Configure(t.Context(), all, ranged(t, "10.0.0.8-10.0.0.9")); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond) // it must not be done before the commit
	}
	if _, _, err := l.Reserve(t.Context(), intent()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if len(stranded) != 1 {
		t.Errorf("got %v stranded, want the one that was being written", stranded)
	}
	in := intent()
	in.Owner = test("b")
	if a, _, err := l.Reserve(t.Context(), in); err != nil || a.Addresses[0].String() != "10.0.0.2" {
		t.Errorf("got %v and %v: the old pools must hold", a.Addresses, err)
	}
	if stranded, err := l.Configure(t.Context(), func(a network.Allocation) bool { return a.Pool != "pool" }); err != nil || len(stranded) > 0 {
		t.Errorf("what may be stranded: got %v and %v", stranded, err)
	}
	if _, _, err := l.Reserve(t.Context(), intent()); err != nil {
		t.Errorf("reserving again for an owner in a removed pool fails: %v", err)
	}
}

// TestConfigureBackAndForth removes a family and a pool and adds them again: allocated addresses are not allocated
// again.
func TestConfigureBackAndForth(t *testing.T) {
	_, l := newDoubtful(t)
	both := ranged(t, "10.0.0.1-10.0.0.99", "fd00::1-fd00::99")
	configure := func(pools ...ledger.Pool) {
		t.Helper()
		if _, err := l.Configure(t.Context(), nil, pools...); err != nil {
			t.Fatal(err)
		}
	}
	reserve := func(key, want string) {
		t.Helper()
		in := intent()
		in.Owner = test(key)
		a, _, err := l.Reserve(t.Context(), in)
		if got := fmt.Sprint(a.Addresses); err != nil || got != want {
			t.Errorf("%s: got %s and error %v, want %s", key, got, err, want)
		}
	}
	configure(both)
	for i := range 80 {
		reserve(fmt.Sprint(i), fmt.Sprintf("[10.0.0.%d fd00::%x]", i+1, i+1))
	}
	configure(ranged(t, "10.0.0.1-10.0.0.99"))
	if err := l.Delete(t.Context(), test("3"), time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	reserve("one family", "[10.0.0.81]") // the choice continues at its previous position
	configure(both)
	reserve("both", "[10.0.0.82 fd00::4]")
	configure()
	configure(both)
	if got := l.Usage("pool"); got.Held != 161 {
		t.Errorf("got %d held, want 161", got.Held)
	}
	reserve("again", "[10.0.0.4 fd00::51]")
	configure(ranged(t, "10.0.0.1-10.0.0.9"))
	in := intent()
	in.Owner = test("small")
	if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, network.ErrExhausted) {
		t.Errorf("got error %v, want %v", err, network.ErrExhausted)
	}
}

// TestConfigureAmongMany exchanges pools while many reserve and forget: nothing may have two owners, and nothing stay taken.
func TestConfigureAmongMany(t *testing.T) {
	_, l := newDoubtful(t)
	small, large := pools(t), ranged(t, "10.0.0.1-10.0.0.200")
	stop := make(chan struct{})
	var group, configuring sync.WaitGroup
	configuring.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			sets := [][]ledger.Pool{{small}, {large}, {}}
			if _, err := l.Configure(t.Context(), nil, sets[i%len(sets)]...); err != nil {
				t.Error(err)
			}
		}
	})
	for caller := range 8 {
		group.Go(func() {
			for i := range 200 {
				in := intent()
				in.Owner = test(fmt.Sprint(caller, "/", i%5))
				if _, _, err := l.Reserve(t.Context(), in); err != nil {
					continue // the pool is removed or full at this time
				}
				if err := l.Delete(t.Context(), in.Owner, in.Now, in.Now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	configuring.Wait()
	if _, err := l.Configure(t.Context(), nil, large); err != nil {
		t.Fatal(err)
	}
	held := map[netip.Addr]network.Owner{}
	if err := l.All(t.Context(), func(a network.Allocation) error {
		for _, address := range a.Addresses {
			if other, ok := held[address]; ok {
				t.Errorf("%s has two owners: %s and %s", address, other, a.Owner)
			}
			held[address] = a.Owner
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := l.Taken("pool"); got != uint64(len(held)) {
		t.Errorf("got %d taken, where %d are held", got, len(held))
	}
}

// duringScan is a store that runs a function once after a scan has read its rows.
type duringScan struct {
	ledger.Store
	then func()
}

func (s *duringScan) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	then := s.then
	if then == nil || prefix != "" {
		return s.Store.Scan(ctx, prefix, each)
	}
	s.then = nil
	var rows []ledger.Change
	err := s.Store.Scan(ctx, prefix, func(key, value []byte) error {
		rows = append(rows, ledger.Change{Key: string(key), Value: bytes.Clone(value)})
		return nil
	})
	then()
	for _, row := range rows {
		if err == nil {
			err = each([]byte(row.Key), row.Value)
		}
	}
	return err
}

// TestConfigureBlocksNoRelease releases an address while the rows are read for new pools: the release does not wait, and the address is free
// afterwards.
func TestConfigureBlocksNoRelease(t *testing.T) {
	store, _ := newDoubtful(t)
	scanned := &duringScan{Store: store}
	l, err := ledger.Open(t.Context(), scanned, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	in := intent()
	if _, _, err := l.Reserve(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	scanned.then = func() {
		done := make(chan error, 1)
		go func() { done <- l.Delete(t.Context(), in.Owner, in.Now, in.Now) }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Error("the release waits for the end of the scan")
		}
	}
	if _, err := l.Configure(t.Context(), nil, ranged(t, "10.0.0.1-10.0.0.200")); err != nil {
		t.Fatal(err)
	}
	if got := l.Taken("pool"); got != 0 || scanned.then != nil {
		t.Errorf("got %d taken, want 0", got)
	}
}

// TestConfigureIgnoresUnrelatedBrokenRow checks that an unreadable row of an owner does not prevent a change of the pools that keeps its
// address.
func TestConfigureIgnoresUnrelatedBrokenRow(t *testing.T) {
	store, l := newDoubtful(t)
	if _, _, err := l.Reserve(t.Context(), intent()); err != nil {
		t.Fatal(err)
	}
	raw, err := store.Get(t.Context(), "owner/test/a")
	if err != nil {
		t.Fatal(err)
	}
	broken := append(bytes.Clone(raw), '{')
	if err := store.Store.Commit(t.Context(), ledger.Change{Key: "owner/test/a", Was: raw, Value: broken}); err != nil {
		t.Fatal(err)
	}
	if refused, err := l.Configure(t.Context(), all, ranged(t, "10.0.0.1-10.0.0.200")); err != nil || len(refused) > 0 {
		t.Errorf("refused %v, %v", refused, err)
	}
}
