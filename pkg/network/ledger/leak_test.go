// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestRefusedChoiceFreesOtherAddresses checks that the remaining choice is free again if another server has allocated one of its
// addresses.
func TestRefusedChoiceFreesOtherAddresses(t *testing.T) {
	store, _ := newDoubtful(t)
	pool := pools(t)
	pool.FirstVLAN, pool.LastVLAN = 2, 2
	servers := openTwice(t, store, pool)
	in := intent()
	in.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	in.Trunk = network.Trunk{Node: "one"}
	if _, _, err := servers[0].Reserve(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Owner.Key, in.Trunk.Node = "b", "two"
	if _, _, err := servers[1].Reserve(t.Context(), in); !errors.Is(err, network.ErrTaken) {
		t.Fatalf("got error %v, want %v", err, network.ErrTaken)
	}
	in.Addresses = nil
	if _, _, err := servers[1].Reserve(t.Context(), in); err != nil {
		t.Errorf("the released VLAN cannot be allocated again: %v", err)
	}
}

// TestQuarantineEndedByAnotherServer checks that an address is free after its quarantine, also if another server ended it, and after a
// lost answer.
func TestQuarantineEndedByAnotherServer(t *testing.T) {
	now, late := time.Unix(1e9, 0), time.Unix(2e9, 0)
	store, l := newDoubtful(t)
	a, _, err := l.Reserve(t.Context(), intent())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(t.Context(), a.Owner, now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	servers := openTwice(t, store, pools(t))
	store.after = true
	if _, err := servers[0].Expire(t.Context(), late); err != nil {
		t.Errorf("the row tells that it was done: got error %v", err)
	}
	store.after = false
	for i, l := range append(servers, l) {
		if _, err := l.Expire(t.Context(), late); err != nil {
			t.Error(err)
		}
		if got := l.Taken("pool"); got != 0 {
			t.Errorf("server %d: got %d taken, want 0", i, got)
		}
	}
}

func openTwice(t *testing.T, store ledger.Store, pool ledger.Pool) []*ledger.Ledger {
	t.Helper()
	var servers []*ledger.Ledger
	for range 2 {
		l, err := ledger.Open(t.Context(), store, pool)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, l)
	}
	return servers
}
