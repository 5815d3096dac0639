// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

var errMine = errors.New("not yours")

// TestClaimByPermittedHolders checks that an allocation in release cannot be claimed, and a held one only by permitted holders.
func TestClaimByPermittedHolders(t *testing.T) {
	w := newWorld(t)
	r := request("cloudy", "a", "10.0.0.5")
	if _, err := w.Claim(t.Context(), r.Owner, func(*network.Holder) error { return nil }); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("got error %v, want %v", err, network.ErrNotHeld)
	}
	w.allocate(r)
	if _, err := w.Claim(t.Context(), r.Owner, func(*network.Holder) error { return errMine }); !errors.Is(err, errMine) {
		t.Errorf("got error %v, want that of the caller", err)
	}
	a, err := w.Claim(t.Context(), r.Owner, func(h *network.Holder) error { h.Name = "b"; return nil })
	if err != nil || a.Holder.Name != "b" {
		t.Errorf("got %+v and %v", a.Holder, err)
	}
	if err := w.Release(t.Context(), r.Owner); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Claim(t.Context(), r.Owner, func(*network.Holder) error { return nil }); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("got error %v, want %v", err, network.ErrNotHeld)
	}
}

// TestLastHolderReleases releases a shared allocation with its last holder, in any order.
func TestLastHolderReleases(t *testing.T) {
	for _, pool := range []string{"plain", "cloudy"} {
		w := newWorld(t)
		w.run()
		r := request(pool, "a", "10.0.0.5")
		for i := range 16 {
			r.Holder.Aliases = append(r.Holder.Aliases, fmt.Sprint(i))
		}
		w.allocate(r)
		leave := func(who string) {
			err := w.Unclaim(t.Context(), r.Owner, func(h *network.Holder) (own, over bool) {
				at := slices.Index(h.Aliases, who)
				if at < 0 {
					return false, true
				}
				h.Aliases = slices.Delete(slices.Clone(h.Aliases), at, at+1)
				return true, len(h.Aliases) == 0
			})
			if err != nil {
				t.Error(err)
			}
		}
		leave("nobody")
		var group sync.WaitGroup
		for i := range 15 {
			group.Go(func() { leave(fmt.Sprint(i)) })
		}
		group.Wait()
		if got := w.state("a"); got != network.Bound {
			t.Errorf("%s: got %s before the last one has left", pool, got)
		}
		leave("15")
		leave("15")
		w.eventually("it is released", func() bool { return w.state("a") == "none" })
	}
}

// TestReleaseOfHolder checks that only allocations of a holder are released.
func TestReleaseOfHolder(t *testing.T) {
	w := newWorld(t)
	r := request("plain", "a", "10.0.0.5")
	r.Holder.UID = "one"
	w.allocate(r)
	for uid, want := range map[string]network.State{"other": network.Bound, "": network.Bound} {
		if err := releaseOf(t.Context(), w.Service, r.Owner, uid); err != nil || w.state("a") != want {
			t.Errorf("%q: got %s and %v", uid, w.state("a"), err)
		}
	}
	if err := releaseOf(t.Context(), w.Service, r.Owner, "one"); err != nil || w.state("a") != "none" {
		t.Errorf("got %s and %v", w.state("a"), err)
	}
}

// releaseOf releases the allocation of an owner if a holder has it.
func releaseOf(ctx context.Context, s *service.Service, owner network.Owner, uid string) error {
	return s.Unclaim(ctx, owner, func(h *network.Holder) (own, over bool) { return h.UID == uid, true })
}
