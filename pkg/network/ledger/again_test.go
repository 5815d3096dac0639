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

// TestReallocationWithLostAnswer allocates an address in quarantine again with a commit of unknown outcome, which
// failed before or after it was made: the address is neither lost nor allocated twice.
func TestReallocationWithLostAnswer(t *testing.T) {
	for name, how := range map[string]struct{ before, falls bool }{
		"the commit was made": {}, "the commit was not made": {before: true},
		"the commit was made and no read succeeds": {falls: true}, "the commit was not made and no read succeeds": {before: true, falls: true},
	} {
		t.Run(name, func(t *testing.T) {
			store, _ := newDoubtful(t)
			dark := &darkness{doubtful: store}
			l, err := ledger.Open(t.Context(), dark, pools(t))
			if err != nil {
				t.Fatal(err)
			}
			now := time.Unix(1e9, 0)
			until := now.Add(time.Minute)
			in := intent()
			in.Addresses, in.PreviousOwner = []netip.Addr{netip.MustParseAddr("10.0.0.1")}, in.Owner.Key
			if _, _, err := l.Reserve(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if err := l.Delete(t.Context(), in.Owner, now, until); err != nil {
				t.Fatal(err)
			}
			dark.falls, store.before, store.after = how.falls, how.before, true
			_, _, _ = l.Reserve(t.Context(), in)
			dark.falls, dark.dark, store.before, store.after = false, false, false, false

			other := in
			other.Owner, other.PreviousOwner = test("other"), ""
			if _, _, err := l.Reserve(t.Context(), other); !errors.Is(err, network.ErrTaken) {
				t.Errorf("another owner: got error %v, want %v", err, network.ErrTaken)
			}
			if a, _, err := l.Reserve(t.Context(), in); err != nil || a.Addresses[0] != in.Addresses[0] {
				t.Errorf("again: got %v and error %v", a.Addresses, err)
			}
			if _, err := l.Expire(t.Context(), until); err != nil || l.Taken("pool") != 1 {
				t.Errorf("got error %v and %d taken, want what is held", err, l.Taken("pool"))
			}
			if err := l.Delete(t.Context(), in.Owner, now, now); err != nil {
				t.Error(err)
			}
			if _, _, err := l.Reserve(t.Context(), other); err != nil {
				t.Errorf("when it is free, another owner: got error %v", err)
			}
			report := verify(t, dark, 0)
			for _, fault := range report.Faults {
				t.Errorf("%s: %s", fault.Key, fault.Problem)
			}
		})
	}
}
