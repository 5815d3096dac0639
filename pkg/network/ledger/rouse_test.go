// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// TestRouseWhileGivenAgain frees an address before its time while who had it last asks for it again: memory knows in the end who was sooner.
func TestRouseWhileGivenAgain(t *testing.T) {
	const rounds = 500 // in one of some hundred the two meet
	_, l := newDoubtful(t)
	now, address := time.Unix(1e9, 0), netip.MustParseAddr("10.0.0.1")
	in := intent()
	in.Addresses, in.Kin = []netip.Addr{address}, in.Owner.Key
	for round := range rounds {
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := l.Forget(t.Context(), in.Owner, now, now.Add(time.Hour)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := l.Rouse(t.Context(), in.Owner.Contract, "pool", address); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		})
		group.Go(func() {
			if _, _, err := l.Reserve(t.Context(), in); err != nil && !errors.Is(err, network.ErrTaken) {
				t.Errorf("round %d: %v", round, err)
			}
		})
		group.Wait()
		a, err := l.Get(t.Context(), in.Owner)
		if got, want := l.Taken("pool"), uint64(len(a.Addresses)); got != want {
			t.Fatalf("round %d: %v is held (%v), and memory says that %d are taken", round, a.Addresses, err, got)
		}
		if err := l.Forget(t.Context(), in.Owner, now, now); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
