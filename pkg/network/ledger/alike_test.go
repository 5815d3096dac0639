// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// newAlike is a ledger of pools that make MAC addresses of the last bytes of addresses, as many as prefixes leave, and its store.
func newAlike(t *testing.T, macPrefix []byte, prefixes ...string) (*ledger.Ledger, ledger.Store) {
	t.Helper()
	var pools []ledger.Pool
	for i, text := range prefixes {
		prefix := netip.MustParsePrefix(text)
		var b netipx.IPSetBuilder
		b.AddPrefix(prefix)
		dynamic, err := b.IPSet()
		if err != nil {
			t.Fatal(err)
		}
		pools = append(pools, ledger.Pool{Name: fmt.Sprint(i), MACPrefix: macPrefix, Subnets: []ledger.Subnet{{Prefix: prefix, Dynamic: dynamic}}})
	}
	store := memory.Open(t)
	l, err := ledger.Open(t.Context(), store, pools...)
	if err != nil {
		t.Fatal(err)
	}
	return l, store
}

// TestEqualMACsInOneRequest reserves addresses in one request that map to the same MAC address: each gets its own MAC
// address, and the same one again during its quarantine. A request that is refused for another reason changes no
// quarantine.
func TestEqualMACsInOneRequest(t *testing.T) {
	five, four := []byte{0x0a, 0x58, 0, 0, 0}, []byte{0x0a, 0x58, 0, 0}
	for name, c := range map[string]struct {
		prefix    []byte
		pools     []string
		addresses []string // of the pools in turn; empty: by choice
	}{
		"named addresses of two pools":        {five, []string{"192.168.1.0/24", "192.168.2.0/24"}, []string{"192.168.1.5", "192.168.2.5"}},
		"named addresses of three pools":      {four, []string{"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"}, []string{"10.1.7.5", "10.2.7.5", "10.3.7.5"}},
		"named addresses of one pool":         {five, []string{"10.1.0.0/16"}, []string{"10.1.7.5", "10.1.8.5"}},
		"the same named address in two pools": {five, []string{"192.168.1.0/24", "192.168.1.0/24"}, []string{"192.168.1.5", "192.168.1.5"}},
		"chosen addresses":                    {five, []string{"192.168.1.0/24", "192.168.2.0/24"}, []string{"", ""}},
		"a chosen and a named address":        {five, []string{"192.168.1.0/24", "192.168.2.0/24"}, []string{"", "192.168.2.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, store := newAlike(t, c.prefix, c.pools...)
			now, until := time.Unix(1e9, 0), time.Unix(2e9, 0)
			var intents []ledger.Intent
			for i, address := range c.addresses {
				in := intent()
				in.Owner, in.Pool = test(fmt.Sprint(i)), fmt.Sprint(i%len(c.pools))
				if in.PreviousOwner = in.Owner.Key; address != "" {
					in.Addresses = []netip.Addr{netip.MustParseAddr(address)}
				}
				intents = append(intents, in)
			}
			first := macs(t, l, intents)
			for _, in := range intents {
				a, err := l.Get(t.Context(), in.Owner)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Delete(t.Context(), in.Owner, now, until); err != nil {
					t.Fatal(err)
				}
				intents[slices.IndexFunc(intents, func(i ledger.Intent) bool { return i.Owner == in.Owner })].Addresses = a.Addresses
			}
			in := intents[0]
			in.Owner, in.PreviousOwner = test("other"), ""
			if _, _, err := l.ReserveAll(t.Context(), append(slices.Clone(intents), in)); !errors.Is(err, network.ErrTaken) {
				t.Fatalf("beside what another one had: got error %v, want %v", err, network.ErrTaken)
			}
			if diff := cmp.Diff(first, macs(t, l, intents)); diff != "" {
				t.Errorf("again (-want +got):\n%s", diff)
			}
			for _, in := range intents {
				if err := l.Delete(t.Context(), in.Owner, now, until); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := l.Expire(t.Context(), until); err != nil || got != 2*len(intents) {
				t.Errorf("got %d rows awake and error %v, want %d", got, err, 2*len(intents))
			}
			for _, fault := range verify(t, store, 0).Faults {
				t.Errorf("%s: %s", fault.Key, fault.Problem)
			}
		})
	}
}

// macs allocates and returns the MAC addresses, which must differ.
func macs(t *testing.T, l *ledger.Ledger, intents []ledger.Intent) []string {
	t.Helper()
	all, _, err := l.ReserveAll(t.Context(), intents)
	if err != nil {
		t.Fatal(err)
	}
	var macs []string
	for _, a := range all {
		if slices.Contains(macs, a.MAC.String()) {
			t.Errorf("two have %s", a.MAC)
		}
		macs = append(macs, a.MAC.String())
	}
	return macs
}

// TestMoreMACsThanThePrefixHas requests more MAC addresses than the prefix has: the request is refused and changes nothing.
func TestMoreMACsThanThePrefixHas(t *testing.T) {
	l, _ := newAlike(t, []byte{0x0a, 0x58, 0, 0, 0}, "10.1.0.0/16")
	var intents []ledger.Intent
	for i := range 257 {
		in := intent()
		in.Owner, in.Pool = test(fmt.Sprint(i)), "0"
		intents = append(intents, in)
	}
	if _, _, err := l.ReserveAll(t.Context(), intents); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	if got := l.Taken("0"); got != 0 {
		t.Errorf("got %d taken", got)
	}
}
