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

// wanting is an intent that names an address, and would have it though it rests, if the same owner had it.
func wanting(of, address string) ledger.Intent {
	in := intent(of)
	in.PreviousOwner = of
	in.Addresses = []netip.Addr{netip.MustParseAddr(address)}
	return in
}

// testAgain lets an address rest: only who had it, and its kin, get it by name before its time, also after a restart.
func testAgain(t *testing.T, open Open) {
	until := now.Add(time.Minute)
	store := open(t)
	l := openLedger(t, store)
	const address = "10.0.0.5"
	first := reserve(t, l, wanting("net/a", address))
	for _, c := range []struct {
		of, kin string
		err     error
	}{
		{of: "net/b", err: network.ErrTaken},
		{of: "net/b", kin: "other/", err: network.ErrTaken},
		{of: "net/a", kin: "net", err: network.ErrTaken}, // it does not ask for what it had
		{of: "net/a"},
		{of: "net/b", kin: "net/"},
		{of: "net/a", err: network.ErrTaken}, // somebody else had it last
		{of: "net/b"},
	} {
		if err := l.Delete(t.Context(), first.Owner, now, until); err != nil {
			t.Fatal(err)
		}
		closing(t, store)
		store = open(t)
		l = openLedger(t, store)
		in := wanting(c.of, address)
		if c.kin != "" {
			in.PreviousOwner = c.kin
		}
		a, _, err := l.Reserve(t.Context(), in)
		switch {
		case !errors.Is(err, c.err) || (err == nil) != (c.err == nil):
			t.Fatalf("%s, of the kin %q: got error %v, want %v", c.of, c.kin, err, c.err)
		case err != nil && !strings.Contains(err.Error(),
			"10.0.0.5, which is in quarantine until "+until.UTC().Format(time.RFC3339)+" after its release"):
			t.Errorf("%s, previous owner %q: the error does not name the quarantine: %v", c.of, c.kin, err)
		case err == nil:
			words := strings.Fields(show(a))
			if diff := cmp.Diff([]string{address, first.MAC.String(), "100"}, []string{words[0], words[2], words[3]}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.of, diff)
			}
			first = a
		}
	}
	defer closing(t, store)
	if got, err := l.Expire(t.Context(), until); got != 3 || err != nil {
		t.Errorf("got %d rows awake and %v, want 3: of what was given again, only the addresses of the other family rested on", got, err)
	}
	if got := l.Taken("pool"); got != 2 {
		t.Errorf("got %d taken, want 2", got)
	}
	consistent(t, l)
}

// testRestOfNobody checks that a row which does not say who had it, as older ones do not, rests for everybody, and ends.
func testRestOfNobody(t *testing.T, open Open) {
	until := now.Add(time.Minute)
	store := open(t)
	key := "ip/pool/" + hex.EncodeToString([]byte{10, 0, 0, 5})
	if err := store.Commit(t.Context(), ledger.Change{Key: key, Value: []byte("~" + strconv.FormatInt(until.Unix(), 10))}); err != nil {
		t.Fatal(err)
	}
	l := opened(t, store)
	in := wanting("a", "10.0.0.5")
	in.PreviousOwner = "a"
	if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	if got, err := l.Expire(t.Context(), until); got != 1 || err != nil {
		t.Errorf("got %d rows awake and %v, want 1", got, err)
	}
	reserve(t, l, in)
}

// testAgainInVain checks that an address stays in quarantine if its reallocation fails for another reason.
func testAgainInVain(t *testing.T, open Open) {
	until := now.Add(time.Minute)
	l := opened(t, open(t))
	reserve(t, l, wanting("a", "10.0.0.5"))
	reserve(t, l, wanting("b", "fd00::9"))
	if err := l.Delete(t.Context(), owner("a"), now, until); err != nil {
		t.Fatal(err)
	}
	in := wanting("a", "10.0.0.5")
	in.Addresses = append(in.Addresses, netip.MustParseAddr("fd00::9"))
	for range 2 {
		if _, _, err := l.Reserve(t.Context(), in); !errors.Is(err, network.ErrTaken) ||
			strings.Contains(err.Error(), "10.0.0.5") {
			t.Errorf("got error %v, want that the other address is held", err)
		}
	}
	if _, _, err := l.Reserve(t.Context(), wanting("c", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
		t.Errorf("another owner: got error %v, want %v", err, network.ErrTaken)
	}
	if got, err := l.Expire(t.Context(), until); got != 4 || err != nil {
		t.Errorf("got %d rows awake and %v, want 4", got, err)
	}
	reserve(t, l, wanting("c", "10.0.0.5"))
}

// testAgainAmongTwo lets an owner give an address back and ask for it again at once, from server to server and from one
// that is told late, while another one wants it, too.
func testAgainAmongTwo(t *testing.T, open Open) {
	servers := []*ledger.Ledger{following(t, open(t)), following(t, open(t))}
	for i := range 20 {
		one, two := servers[i/4%2], servers[(i/4+1)%2]
		in := wanting("a", "10.0.0.5")
		eventually(t, "it is given again", func() bool {
			_, _, err := one.Reserve(t.Context(), in)
			return err == nil
		})
		if err := one.Delete(t.Context(), in.Owner, now, now.Add(time.Duration(i+1)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, l := range servers {
			if _, _, err := l.Reserve(t.Context(), wanting("b", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
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
