// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// TestSwarm lets managers and workers of several nodes use one ledger: an address is free when its last holder has
// released it, in any order.
func TestSwarm(t *testing.T) {
	const pool = "global/spare/10.65.0.0/24"
	store := memory.Open(t)
	m1, m2, w1, w2 := newWorldOn(t, store, "m1"), newWorldOn(t, store, "m2"), newWorldOn(t, store, "w1"), newWorldOn(t, store, "w2")
	steps := []struct {
		on       *world
		do, want string
	}{
		{m1, "pool global profile=acme.com/overlay pool=spare", pool},
		{m1, "gateway " + pool + " com.docker.network.ipam.serial=true profile=acme.com/overlay", "10.65.0.1/24"},
		{m1, "swarm " + pool, "10.65.0.2/24"},
		{m1, "swarm " + pool, "10.65.0.3/24"},
		{w1, "pool global 10.65.0.0/24", pool},
		{w1, "gateway " + pool + " 10.65.0.1", "10.65.0.1/24"},
		{w1, "address " + pool + " 10.65.0.2", "10.65.0.2/24"},
		{w2, "pool global 10.65.0.0/24", pool},
		{w2, "gateway " + pool + " 10.65.0.1", "10.65.0.1/24"},
		{w2, "address " + pool + " 10.65.0.2", "! in use on the node w1: 10.65.0.2"},
		{w2, "address " + pool + " 10.65.0.3", "10.65.0.3/24"},
		{w1, "free " + pool + " 10.65.0.3", "ok"}, // which it has not
		{w2, "free " + pool + " 10.65.0.3", "ok"},
		{w2, "free " + pool + " 10.65.0.3", "ok"}, // again, which takes nothing from the manager
		{w1, "activate", "ok"},
		{w1, "pool global 10.65.0.0/24", pool},
		{w1, "address " + pool + " 10.65.0.2", "10.65.0.2/24"},
		{w2, "free " + pool + " 10.65.0.1", "ok"},
		{w2, "end " + pool, "ok"},
		{m2, "pool global 10.65.0.0/24", pool}, // the next leader
		{m2, "gateway " + pool + " 10.65.0.1 com.docker.network.ipam.serial=true", "10.65.0.1/24"},
		{m2, "swarm " + pool + " 10.65.0.2", "10.65.0.2/24"},
		{m2, "swarm " + pool + " 10.65.0.3", "10.65.0.3/24"},
		{m2, "free " + pool + " 10.65.0.3", "ok"},
		{m2, "free " + pool + " 10.65.0.2", "ok"},
		{w2, "sweep", "ok"},
		{w2, "wait 11m", "ok"},
		{w2, "sweep", "ok"},
	}
	for _, s := range steps {
		if got := s.on.do(s.do); got != s.want {
			t.Errorf("%s on %s:\n got %s\nwant %s", s.do, s.on.node, got, s.want)
		}
	}
	want := []string{"10.65.0.1 Gateway " + pool, "10.65.0.2 Network " + pool}
	if diff := cmp.Diff(want, m1.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	for _, s := range []struct {
		on *world
		do string
	}{
		{w1, "free " + pool + " 10.65.0.2"}, {w1, "free " + pool + " 10.65.0.1"}, {w1, "end " + pool},
		{m2, "free " + pool + " 10.65.0.1"}, {m2, "end " + pool},
	} {
		if got := s.on.do(s.do); got != "ok" {
			t.Errorf("%s: got %s", s.do, got)
		}
	}
	if diff := cmp.Diff([]string(nil), m1.held()); diff != "" {
		t.Errorf("held at last (-want +got):\n%s", diff)
	}
	if left := leases(t, m1); len(left) > 0 {
		t.Errorf("leases remain: %s", left)
	}
	m1.even()
}

// TestNodes checks that nodes with a common ledger lease different pools, allocate no address twice, and free nothing
// of each other.
func TestNodes(t *testing.T) {
	const pool = "local/spare/10.65.0.0/24"
	store := memory.Open(t)
	one, two := newWorldOn(t, store, "one"), newWorldOn(t, store, "two")
	for _, s := range []struct {
		on       *world
		do, want string
	}{
		{one, "pool local pool=spare", pool}, {two, "pool local pool=spare", pool},
		{one, "gateway " + pool, "10.65.0.1/24"},
		{two, "address " + pool + " 10.65.0.1", "! in use: 10.65.0.1"},
		{two, "free " + pool + " 10.65.0.1", "ok"},
		{two, "activate", "ok"},
		{one, "address " + pool + " 10.65.0.1", "! in use in this network: 10.65.0.1"},
		{two, "end " + pool, "ok"}, {two, "sweep", "ok"}, {two, "wait 11m", "ok"}, {two, "sweep", "ok"},
	} {
		if got := s.on.do(s.do); got != s.want {
			t.Errorf("%s on %s:\n got %s\nwant %s", s.do, s.on.node, got, s.want)
		}
	}
	if diff := cmp.Diff([]string{"10.65.0.1 Gateway " + pool}, one.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

// leases are the keys of all leases of a store.
func leases(t *testing.T, w *world) []string {
	t.Helper()
	var keys []string
	err := w.store.Scan(t.Context(), "record/", func(key, _ []byte) error {
		if text := string(key); strings.Contains(text, "/lease/") || strings.Contains(text, "/lease-global/") {
			keys = append(keys, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}
