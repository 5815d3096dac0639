// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

func test(key string) network.Owner { return network.Owner{Contract: "test", Key: key} }

// ranged is the pool with other ranges.
func ranged(t *testing.T, ranges ...string) ledger.Pool {
	t.Helper()
	p := ledger.Pool{Name: "pool"}
	for _, text := range ranges {
		var b netipx.IPSetBuilder
		r := netipx.MustParseIPRange(text)
		b.AddRange(r)
		set, err := b.IPSet()
		if err != nil {
			t.Fatal(err)
		}
		bits := map[bool]int{true: 24, false: 64}[r.From().Is4()]
		p.Subnets = append(p.Subnets, ledger.Subnet{Prefix: netip.PrefixFrom(r.From(), bits).Masked(), Dynamic: set})
	}
	return p
}

// TestInvalidOwnersAreNotWritten checks that rows that could not be read back are never written.
func TestInvalidOwnersAreNotWritten(t *testing.T) {
	store, l := newDoubtful(t)
	for name, intents := range map[string][]ledger.Intent{
		"an owner without a key":           {{Owner: network.Owner{Contract: "test"}, Pool: "pool"}},
		"an owner without a contract":      {{Owner: network.Owner{Key: "a"}, Pool: "pool"}},
		"one owner twice":                  {{Owner: test("a"), Pool: "pool"}, {Owner: test("b"), Pool: "pool"}, {Owner: test("a"), Pool: "pool"}},
		"a trunk with a slash in its node": {{Owner: test("a"), Pool: "pool", Trunk: network.Trunk{Node: "a/b"}}},
		"a contract with a slash":          {{Owner: network.Owner{Contract: "a/b", Key: "c"}, Pool: "pool"}},
		"pools that do not exist":          {{Owner: test("a"), Pool: "pool"}, {Owner: test("b"), Pool: "pol"}},
	} {
		if _, _, err := l.ReserveAll(t.Context(), intents); err == nil {
			t.Errorf("%s: no error, want one", name)
		}
	}
	if got := l.Taken("pool"); got != 0 {
		t.Errorf("got %d taken", got)
	}
	if _, err := ledger.Open(t.Context(), store, pools(t)); err != nil {
		t.Error(err)
	}
}

// TestRetryAfterLostCommit requests an address again after its commit was lost without being written.
func TestRetryAfterLostCommit(t *testing.T) {
	store, _ := newDoubtful(t)
	dark := &darkness{doubtful: store}
	l, err := ledger.Open(t.Context(), dark, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	in := intent()
	in.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	dark.falls, dark.before = true, true
	if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, errBroken) {
		t.Fatalf("got error %v, want %v", err, errBroken)
	}
	dark.falls, dark.before, dark.dark = false, false, false
	if _, fresh, err := l.Reserve(t.Context(), in); err != nil || !fresh {
		t.Errorf("got fresh %v and error %v", fresh, err)
	}
}

// TestReleaseWithLostAnswer checks that the memory does not keep the released addresses as held or in
// quarantine forever.
func TestReleaseWithLostAnswer(t *testing.T) {
	store, l := newDoubtful(t)
	now := time.Unix(1e9, 0)
	for key, until := range map[string]time.Time{"free": now, "rests": now.Add(time.Minute)} {
		in := intent()
		in.Owner = test(key)
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		store.after = true
		if err := l.Delete(t.Context(), in.Owner, now, until); err != nil {
			t.Errorf("the row tells that it was released: got error %v", err)
		}
		store.after = false
		if err := l.Delete(t.Context(), in.Owner, now, until); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Expire(t.Context(), now); err != nil || l.Taken("pool") != 1 {
		t.Errorf("got error %v and %d taken, want the one that rests", err, l.Taken("pool"))
	}
	if _, err := l.Expire(t.Context(), now.Add(time.Minute)); err != nil || l.Taken("pool") != 0 {
		t.Errorf("got error %v and %d taken after the rest", err, l.Taken("pool"))
	}
}

// TestTwoServersForOneOwner lets two independent servers allocate a named address to the same owner.
func TestTwoServersForOneOwner(t *testing.T) {
	store, _ := newDoubtful(t)
	servers := openTwice(t, store, pools(t))
	in := intent()
	in.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	// The second has looked whether the owner holds something before the first writes.
	late := &between{Store: store}
	second, err := ledger.Open(t.Context(), late, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	late.before = func() {
		if _, _, err := servers[0].Reserve(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	if a, fresh, err := second.Reserve(t.Context(), in); err != nil || fresh || a.Addresses[0] != in.Addresses[0] {
		t.Errorf("got %v, fresh is %v, error %v", a.Addresses, fresh, err)
	}
}

// TestTwoServersThatBegin opens an empty store with two servers at the same time.
func TestTwoServersThatBegin(t *testing.T) {
	store, _ := newDoubtful(t)
	format, err := store.Get(t.Context(), "format")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "format", Was: format}); err != nil {
		t.Fatal(err)
	}
	opened := false
	_, err = ledger.Open(t.Context(), &between{Store: store, before: func() {
		if _, err := ledger.Open(t.Context(), store, pools(t)); err != nil {
			t.Error(err)
		}
		opened = true
	}}, pools(t))
	if err != nil || !opened {
		t.Errorf("got error %v; opened by another: %v", err, opened)
	}
}

// between is a store that runs a function before the next commit.
type between struct {
	ledger.Store
	before func()
}

func (b *between) Commit(ctx context.Context, changes ...ledger.Change) error {
	if before := b.before; before != nil {
		b.before = nil
		before()
	}
	return b.Store.Commit(ctx, changes...)
}

// TestAtAfterOwnerChanged checks that At never returns an allocation without the address.
func TestAtAfterOwnerChanged(t *testing.T) {
	store, _ := newDoubtful(t)
	moving := &moved{Store: store}
	l, err := ledger.Open(t.Context(), moving, pools(t))
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := l.Reserve(t.Context(), intent())
	if err != nil {
		t.Fatal(err)
	}
	moving.after = func() {
		if err := l.Delete(t.Context(), a.Owner, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Error(err)
		}
		if _, _, err := l.Reserve(t.Context(), intent()); err != nil {
			t.Error(err)
		}
	}
	if got, err := l.ByAddress(t.Context(), "pool", a.Addresses[0]); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("got %v and error %v", got, err)
	}
}

// moved is a store that runs a function after the next read.
type moved struct {
	ledger.Store
	after func()
}

func (m *moved) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := m.Store.Get(ctx, key)
	if after := m.after; after != nil {
		m.after = nil
		after()
	}
	return value, err
}

// TestCloudChoosesAddressInQuarantine checks that a cloud can choose an address in quarantine.
func TestCloudChoosesAddressInQuarantine(t *testing.T) {
	_, l := newDoubtful(t)
	now, chosen := time.Unix(1e9, 0), netip.MustParseAddr("10.9.0.1")
	if _, err := l.Configure(t.Context(), nil, ledger.Pool{Name: "pool"}); err != nil {
		t.Fatal(err)
	}
	add := func(key string) error {
		in := intent()
		in.Owner = test(key)
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		_, err := l.Update(t.Context(), in.Owner, func(a *network.Allocation) error { a.Addresses = append(a.Addresses, chosen); return nil })
		return err
	}
	if err := add("a"); err != nil {
		t.Fatal(err)
	}
	if err := add("b"); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	if err := l.Delete(t.Context(), test("a"), now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := add("c"); err != nil {
		t.Errorf("reserving during the quarantine fails: %v", err)
	}
	if _, err := l.Expire(t.Context(), now.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if a, err := l.ByAddress(t.Context(), "pool", chosen); err != nil || a.Owner != test("c") {
		t.Errorf("got %v and %v", a.Owner, err)
	}
}
