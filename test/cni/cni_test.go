// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
)

var asText = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

// TestSuite runs the suite of all clouds: with addresses that host-local chooses, and with given ones.
func TestSuite(t *testing.T) {
	open := func(t *testing.T) cloud.Cloud {
		h := newHost(t, "10.0.0.0/24", "10.0.0.2", "10.0.0.200")
		t.Cleanup(func() {
			if kept := h.kept(); len(kept) > 0 {
				t.Errorf("host-local still keeps %v", kept)
			}
		})
		return cni.New("lan", h.options)
	}
	t.Run("chosen", func(t *testing.T) { cloudtest.RunChoosing(t, open) })
	t.Run("told", func(t *testing.T) { cloudtest.Run(t, open) })
}

// TestClaims checks that two claims for devices of the same name get two addresses, and that a release frees one of
// them.
func TestClaims(t *testing.T) {
	h := newHost(t, "192.168.100.0/24", "192.168.100.1", "192.168.100.9")
	s := h.serve(t.TempDir())
	stop := s.run()
	defer stop()
	first, second := s.allocate(1), s.allocate(2)
	want := network.Binding{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.100.2/24")},
		Routes:    []network.Route{{Destination: netip.MustParsePrefix("10.96.0.0/12"), Gateway: netip.MustParseAddr("192.168.100.1")}},
	}
	if diff := cmp.Diff(want, first.Binding, asText, cmpopts.IgnoreFields(network.Binding{}, "Reference")); diff != "" {
		t.Errorf("what the first claim has (-want +got):\n%s", diff)
	}
	if first.Addresses[0] == second.Addresses[0] {
		t.Errorf("both claims have %s", first.Addresses[0])
	}
	if diff := cmp.Diff(first, s.allocate(1), asText); diff != "" {
		t.Errorf("asked again (-first +second):\n%s", diff)
	}
	s.release(1)
	h.eventually("host-local keeps that of the other claim only", func() bool { return cmp.Equal(h.kept(), []string{second.Addresses[0].String()}) })
}

// TestExhausted checks that an exhausted range is reported, and that released addresses are available again.
func TestExhausted(t *testing.T) {
	h := newHost(t, "192.168.100.0/24", "192.168.100.10", "192.168.100.12")
	s := h.serve(t.TempDir())
	stop := s.run()
	defer stop()
	for claim := range 3 {
		s.allocate(claim)
	}
	_, err := s.Allocate(t.Context(), request(3))
	if !errors.Is(err, network.ErrExhausted) || !strings.Contains(err.Error(), "no IP addresses available in range set") {
		t.Fatalf("the fourth of three: %v", err)
	}
	elsewhere := request(3)
	elsewhere.Pool = "next"
	if a, err := s.Allocate(t.Context(), elsewhere); err != nil || a.Addresses[0] != netip.MustParseAddr("10.1.0.2") {
		t.Errorf("of the next pool: %v and %v", a.Addresses, err)
	}
	s.release(3)
	h.eventually("what was of the next pool is given back", func() bool { return !s.holds(3) })
	s.release(1)
	h.eventually("the ledger has forgotten it", func() bool { return !s.holds(1) })
	s.allocate(3)
	if kept := h.kept(); len(kept) != 3 {
		t.Errorf("host-local keeps %v for three owners", kept)
	}
}

// TestCrash checks that an address of the plugin that the server could not record is neither lost nor allocated twice.
func TestCrash(t *testing.T) {
	for name, again := range map[string]bool{"nobody asks again": false, "the owner asks again": true} {
		t.Run(name, func(t *testing.T) {
			h, folder := newHost(t, "192.168.100.0/24", "192.168.100.10", "192.168.100.12"), t.TempDir()
			dying := h.serve(folder)
			r := request(1)
			intent, _, err := dying.ledger.Reserve(t.Context(), ledger.Intent{Owner: r.Owner, Pool: r.Pool, Holder: r.Holder, State: network.Intended, Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dying.cloud.Bind(t.Context(), intent); err != nil {
				t.Fatal(err)
			}
			dying.close()

			s := h.serve(folder)
			stop := s.run()
			defer stop()
			if kept := h.kept(); len(kept) > 0 {
				t.Errorf("host-local keeps %v for an owner that has nothing", kept)
			}
			if again {
				s.allocate(1)
				if kept := h.kept(); len(kept) != 1 {
					t.Errorf("host-local keeps %v for one owner", kept)
				}
			}
			if len(s.reports) > 0 {
				t.Error(s.reports)
			}
		})
	}
}

// TestLostAnswer checks that an owner gets one address after a lost answer of the plugin.
func TestLostAnswer(t *testing.T) {
	h := newHost(t, "192.168.100.0/24", "192.168.100.10", "192.168.100.12")
	s := h.serve(t.TempDir())
	stop := s.run()
	defer stop()
	r := request(1)
	intent, _, err := s.ledger.Reserve(t.Context(), ledger.Intent{Owner: r.Owner, Pool: r.Pool, Holder: r.Holder, State: network.Intended, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cni.New("lan", h.options).Bind(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	a := s.allocate(1)
	if diff := cmp.Diff([]string{a.Addresses[0].String()}, h.kept()); diff != "" {
		t.Errorf("what host-local keeps (-the ledger +host-local):\n%s", diff)
	}
}

// TestForgetful checks that a plugin that has lost its state and returns a held address takes it from no owner.
func TestForgetful(t *testing.T) {
	h := newHost(t, "192.168.100.0/24", "192.168.100.10", "192.168.100.12")
	s := h.serve(t.TempDir())
	stop := s.run()
	defer stop()
	first := s.allocate(1)
	if err := os.RemoveAll(filepath.Join(h.data, "lan")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Allocate(t.Context(), request(2)); !errors.Is(err, network.ErrTaken) {
		t.Fatalf("given what is held: %v", err)
	}
	h.eventually("what was given is given back", func() bool { return len(h.kept()) == 0 })
	if second := s.allocate(2); second.Addresses[0] == first.Addresses[0] {
		t.Errorf("both have %s", first.Addresses[0])
	}
	held, err := s.Get(t.Context(), first.Owner)
	if diff := cmp.Diff(first, held, asText); err != nil || diff != "" {
		t.Errorf("what the first holds (%v, -before +after):\n%s", err, diff)
	}
}

// TestMany checks that concurrent owners get different addresses, and that all are available again afterwards.
func TestMany(t *testing.T) {
	const many = 50
	h := newHost(t, "192.168.100.0/24", "192.168.100.10", "192.168.100.59")
	s := h.serve(t.TempDir())
	stop := s.run()
	defer stop()
	for range 2 {
		var group sync.WaitGroup
		for claim := range many {
			group.Go(func() { s.allocate(claim) })
		}
		group.Wait()
		if kept := h.kept(); len(kept) != many {
			t.Errorf("%d owners have %d addresses", many, len(kept))
		}
		for claim := range many {
			s.release(claim)
		}
		h.eventually("all is given back", func() bool { return len(h.kept()) == 0 })
		h.eventually("the ledger is empty", func() bool {
			held := 0
			err := s.ledger.All(t.Context(), func(network.Allocation) error { held++; return nil })
			return err == nil && held == 0
		})
	}
}
