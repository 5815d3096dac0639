// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// newChoosing is a world with a pool with addresses that the cloud chooses: one for all.
func newChoosing(t *testing.T) (w *world, address netip.Addr) {
	t.Helper()
	w = newWorld(t)
	if _, err := w.ledger.Configure(t.Context(), nil, append(w.pools, ledger.Pool{Name: "chosen"})...); err != nil {
		t.Fatal(err)
	}
	w.Configure(map[string]service.Pool{"chosen": {Cloud: w.cloud, Quarantine: rest}}, nil)
	w.cloud.gives = netip.MustParsePrefix("10.9.0.1/24")
	return w, w.cloud.gives.Addr()
}

// TestCloudChoosesAddressDuringItsRelease allocates an address that the cloud has released before the ledger knows it: the release is
// in flight.
func TestCloudChoosesAddressDuringItsRelease(t *testing.T) {
	w, address := newChoosing(t)
	w.allocate(request("chosen", "a"))
	freed, goOn := make(chan struct{}), make(chan struct{})
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "unbind a" {
			close(freed)
			<-goOn
		}
		return nil
	}
	w.run()
	if err := w.Release(t.Context(), request("chosen", "a").Owner); err != nil {
		t.Fatal(err)
	}
	<-freed
	var group sync.WaitGroup
	group.Go(func() {
		if b := w.allocate(request("chosen", "b")); len(b.Addresses) != 1 || b.Addresses[0] != address || b.State != network.Bound {
			t.Errorf("got %v", b)
		}
	})
	w.eventually("what the cloud has chosen is in the way", func() bool { return strings.Contains(w.cloud.said(), "bind b") })
	close(goOn)
	group.Wait()
	w.asked("bind a, unbind a, bind b")
	if w.state("a") != "none" {
		t.Errorf("the owner that released the address is %s, want none", w.state("a"))
	}
}

// TestCloudChoosesAddressAfterLostRelease does the same after a lost answer to the release: the next owner's request completes the
// release, and an unreachable cloud is not a refusal.
func TestCloudChoosesAddressAfterLostRelease(t *testing.T) {
	w, address := newChoosing(t)
	w.allocate(request("chosen", "a"))
	broken := true
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "unbind a" && broken {
			return errBroken
		}
		return nil
	}
	if err := w.Release(t.Context(), request("chosen", "a").Owner); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Allocate(t.Context(), request("chosen", "b")); !errors.Is(err, network.ErrUnavailable) || !errors.Is(err, errBroken) {
		t.Errorf("the cloud cannot be asked to release it: got error %v", err)
	}
	if w.state("a") != network.Releasing || w.state("b") != network.Intended {
		t.Errorf("the first is %s, and the second %s", w.state("a"), w.state("b"))
	}
	broken = false
	if b := w.allocate(request("chosen", "b")); b.Addresses[0] != address {
		t.Errorf("got %v", b)
	}
	w.asked("bind a, bind b, unbind a, bind b, unbind a")
}

// TestCloudChoosesHeldAddress refuses an address that the cloud chooses twice.
func TestCloudChoosesHeldAddress(t *testing.T) {
	w, address := newChoosing(t)
	w.allocate(request("chosen", "a"))
	if _, err := w.Allocate(t.Context(), request("chosen", "b")); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v", err)
	}
	if held, err := w.ledger.ByAddress(t.Context(), "chosen", address); err != nil || held.Owner.Key != "a" || held.State != network.Bound {
		t.Errorf("the address belongs to %v (%v)", held, err)
	}
}

// TestCloudChoosesAddressBeforeCrash lets an owner repeat its request after a crash: it gets the address that the cloud
// chose before, and that another owner has released in the ledger.
func TestCloudChoosesAddressBeforeCrash(t *testing.T) {
	w, address := newChoosing(t)
	w.allocate(request("chosen", "a"))
	if err := w.Release(t.Context(), request("chosen", "a").Owner); err != nil {
		t.Fatal(err)
	}
	in := ledger.Intent{Owner: request("chosen", "b").Owner, Pool: "chosen", State: network.Intended, Now: w.clock.Now()}
	if _, _, err := w.ledger.Reserve(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	w.cloud.set("a", false)
	w.cloud.set("b", true)
	w.allocate(request("chosen", "b"))
	if got := w.states("a", "b"); got != "a none, b bound" {
		t.Errorf("got %s", got)
	}
	if held, err := w.ledger.ByAddress(t.Context(), "chosen", address); err != nil || held.Owner.Key != "b" {
		t.Errorf("the address belongs to %v (%v)", held, err)
	}
}

// TestCloudChoosesAddressOfUndoneIntent allocates an address that the cloud has taken back from an intent that is being undone after a
// crash.
func TestCloudChoosesAddressOfUndoneIntent(t *testing.T) {
	w, address := newChoosing(t)
	a, b := request("chosen", "a").Owner, request("chosen", "b").Owner
	var intents []ledger.Intent
	for _, owner := range []network.Owner{a, b} {
		intents = append(intents, ledger.Intent{Owner: owner, Pool: "chosen", State: network.Intended, Together: a, Now: w.clock.Now()})
	}
	if _, _, err := w.ledger.ReserveAll(t.Context(), intents); err != nil {
		t.Fatal(err)
	}
	_, err := w.ledger.Update(t.Context(), a, func(of *network.Allocation) error {
		of.Binding.Addresses, of.Addresses = []netip.Prefix{w.cloud.gives}, []netip.Addr{address}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	w.allocate(request("chosen", "c"))
	w.run()
	w.eventually("what was begun is undone", func() bool { return w.states("a", "b") == "a none, b none" })
	if got := w.states("a", "b", "c"); got != "a none, b none, c bound" {
		t.Errorf("got %s", got)
	}
}
