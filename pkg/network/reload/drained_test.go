// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// two is a profile with the pools overlay and b; b is used.
func two(overlay, b string) string {
	one := func(name, ranges string) string {
		return "  " + name + ": {exclusive: true, whenShrunk: drain, subnets: [{prefix: " + ranges + "}]}\n"
	}
	text := head + "pools:\n"
	if overlay != "" {
		text += one("overlay", overlay)
	}
	if b != "" {
		text += one("b", b)
	}
	return text
}

func (w *world) allocateOf(t *testing.T, r *reload.Reloader, pool, key string) string {
	t.Helper()
	a, err := r.Service().Allocate(t.Context(), service.Request{
		Owner: network.Owner{Contract: "dranet", Key: key}, Pool: pool, Holder: network.Holder{Kind: "ResourceClaim", Namespace: "default", Name: key},
	})
	if err != nil {
		return err.Error()
	}
	return a.Addresses[0].String()
}

// TestPoolOverDrainedAddresses checks that a pool over the addresses of a drained pool allocates them when they are
// free.
func TestPoolOverDrainedAddresses(t *testing.T) {
	w := newWorld(t)
	w.open(t, two("10.1.0.0/29", ""))
	var last string
	for _, key := range []string{"c1", "c2", "c3", "c4", "c5", "c6"} {
		last = w.allocate(t, key)
	}
	if last != "10.1.0.6" {
		t.Fatalf("the last owner has %s, want 10.1.0.6", last)
	}
	if problem := w.load(t, two("10.1.0.0/30", "10.1.0.4/30")); problem != "" {
		t.Fatal(problem)
	}
	again, err := reload.Open(t.Context(), w.store, w.options)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*reload.Reloader{w.Reloader, again} {
		if got := w.allocateOf(t, r, "b", "x"); !strings.Contains(got, network.ErrExhausted.Error()) {
			t.Errorf("what others hold is given: got %s", got)
		}
	}
	w.Reloader = again
	w.release(t, "c5")
	if got := w.allocateOf(t, again, "b", "x"); got != "10.1.0.5" {
		t.Errorf("after the release: got %s", got)
	}
}

// TestRenamedPoolKeepsHeldAddresses checks that a renamed pool in a shared ledger does not allocate held addresses again. The servers of the
// old name complete its releases.
func TestRenamedPoolKeepsHeldAddresses(t *testing.T) {
	w := newWorld(t)
	w.options.Shared = true
	w.open(t, two("10.0.0.0/30", ""))
	w.allocate(t, "a")
	w.allocate(t, "b")
	for _, step := range []struct {
		release string
		want    string
	}{{"", "exhausted: the pool b has no free address in 10.0.0.0/30"}, {"a", "10.0.0.1"}} {
		if step.release != "" {
			w.release(t, step.release)
		}
		renamed, err := w.try(t, two("", "10.0.0.0/30"))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.allocateOf(t, renamed, "b", "x"); got != step.want {
			t.Errorf("after the release of %q: got %s, want %s", step.release, got, step.want)
		}
	}
}
