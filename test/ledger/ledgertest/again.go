// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// requesting returns an intent that requests an address, also in quarantine if the same owner had it before.
func requesting(of, address string) ledger.Intent {
	in := intent(of)
	in.PreviousOwner = of
	in.Addresses = []netip.Addr{netip.MustParseAddr(address)}
	return in
}

// testReallocation checks that only the previous owner of an address and owners with its prefix get it during its
// quarantine, also after a restart.
func testReallocation(t *testing.T, open Open) {
	until := now.Add(time.Minute)
	store := open(t)
	l := openLedger(t, store)
	const address = "10.0.0.5"
	first := reserve(t, l, requesting("net/a", address))
	for _, c := range []struct {
		of, previous string
		err          error
	}{
		{of: "net/b", err: network.ErrTaken},
		{of: "net/b", previous: "other/", err: network.ErrTaken},
		{of: "net/a", previous: "net", err: network.ErrTaken}, // it does not request its previous address
		{of: "net/a"},
		{of: "net/b", previous: "net/"},
		{of: "net/a", err: network.ErrTaken}, // another owner had it last
		{of: "net/b"},
	} {
		if err := l.Delete(t.Context(), first.Owner, now, until); err != nil {
			t.Fatal(err)
		}
		closing(t, store)
		store = open(t)
		l = openLedger(t, store)
		in := requesting(c.of, address)
		if c.previous != "" {
			in.PreviousOwner = c.previous
		}
		a, _, err := l.Reserve(t.Context(), in)
		switch {
		case !errors.Is(err, c.err) || (err == nil) != (c.err == nil):
			t.Fatalf("%s, previous owner %q: got error %v, want %v", c.of, c.previous, err, c.err)
		case err != nil && !strings.Contains(err.Error(),
			"10.0.0.5, which is in quarantine until "+until.UTC().Format(time.RFC3339)+" after its release"):
			t.Errorf("%s, previous owner %q: the error does not name the quarantine: %v", c.of, c.previous, err)
		case err == nil:
			words := strings.Fields(show(a))
			if diff := cmp.Diff([]string{address, first.MAC.String(), "100"},
				[]string{words[0], words[2], words[3]}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.of, diff)
			}
			first = a
		}
	}
	defer closing(t, store)
	if got, err := l.Expire(t.Context(), until); got != 3 || err != nil {
		t.Errorf("got %d expired rows and %v, want 3: after a reallocation, only addresses of the other family are in "+
			"quarantine", got, err)
	}
	if got := l.Taken("pool"); got != 2 {
		t.Errorf("got %d taken, want 2", got)
	}
	consistent(t, l)
}

// testQuarantineWithoutOwner checks that the quarantine of a row without a previous owner, as in older rows, applies to
// all owners and ends.
func testQuarantineWithoutOwner(t *testing.T, open Open) {
	until := now.Add(time.Minute)
	store := open(t)
	key := "ip/pool/" + hex.EncodeToString([]byte{10, 0, 0, 5})
	if err := store.Commit(t.Context(),
		ledger.Change{Key: key, Value: []byte("~" + strconv.FormatInt(until.Unix(), 10))}); err != nil {
		t.Fatal(err)
	}
	l := opened(t, store)
	in := requesting("a", "10.0.0.5")
	in.PreviousOwner = "a"
	if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	if got, err := l.Expire(t.Context(), until); got != 1 || err != nil {
		t.Errorf("got %d expired rows and %v, want 1", got, err)
	}
	reserve(t, l, in)
}

// testFailedReallocation checks that an address stays in quarantine if its reallocation fails for another reason.
func testFailedReallocation(t *testing.T, open Open) {
	until := now.Add(time.Minute)
	l := opened(t, open(t))
	reserve(t, l, requesting("a", "10.0.0.5"))
	reserve(t, l, requesting("b", "fd00::9"))
	if err := l.Delete(t.Context(), owner("a"), now, until); err != nil {
		t.Fatal(err)
	}
	in := requesting("a", "10.0.0.5")
	in.Addresses = append(in.Addresses, netip.MustParseAddr("fd00::9"))
	for range 2 {
		if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, network.ErrTaken) ||
			strings.Contains(err.Error(), "10.0.0.5") {
			t.Errorf("got error %v, want that the other address is held", err)
		}
	}
	if _, _, err := l.Reserve(t.Context(), requesting("c", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
		t.Errorf("another owner: got error %v, want %v", err, network.ErrTaken)
	}
	if got, err := l.Expire(t.Context(), until); got != 4 || err != nil {
		t.Errorf("got %d expired rows and %v, want 4", got, err)
	}
	reserve(t, l, requesting("c", "10.0.0.5"))
}

// testReallocationOnTwoServers lets an owner release an address and request it again at once, on alternating servers
// that learn of changes late, while another owner requests it.
func testReallocationOnTwoServers(t *testing.T, open Open) {
	servers := []*ledger.Ledger{following(t, open(t)), following(t, open(t))}
	for i := range 20 {
		one, two := servers[i/4%2], servers[(i/4+1)%2]
		in := requesting("a", "10.0.0.5")
		eventually(t, "it is given again", func() bool {
			_, _, err := one.Reserve(t.Context(), in)
			return err == nil
		})
		if err := one.Delete(t.Context(), in.Owner, now, now.Add(time.Duration(i+1)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, l := range servers {
			if _, _, err := l.Reserve(t.Context(), requesting("b", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
				t.Fatalf("another owner: got error %v, want %v", err, network.ErrTaken)
			}
		}
		if _, _, err := one.Reserve(t.Context(), in); err != nil {
			t.Fatalf("allocation on the releasing server fails without a delay: %v", err)
		}
		if err := two.Delete(t.Context(), in.Owner, now, now.Add(time.Duration(i+1)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	end := now.Add(time.Hour)
	eventually(t, "all is free on both", func() bool {
		for _, l := range servers {
			if _, err := l.Expire(t.Context(), end); err != nil {
				t.Fatal(err)
			}
		}
		return servers[0].Taken("pool")+servers[1].Taken("pool") == 0
	})
}
