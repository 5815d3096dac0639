// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"net/netip"
	"testing"
)

// FuzzIdentifier checks that the identifier of a lease can be derived from the owners of its addresses, and nothing
// else can.
func FuzzIdentifier(f *testing.F) {
	for _, id := range []string{"local/overlay/10.64.0.0/24", "global/a.b/fd00::/64", "local//10.0.0.0/8", "local/a/10.0.0.1/8", "local/a/10.0.0.0", "", "//"} {
		f.Add(id, "n1", "10.64.0.1")
		f.Add(id, "", "fd00::1")
	}
	f.Fuzz(func(t *testing.T, id, node, text string) {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return
		}
		for _, s := range []*space{{short: "local", owners: "pool/" + node + "/"}, {short: "global", owners: "pool/", shared: true}} {
			pool, prefix, ok := s.parse(id)
			if ok && s.id(pool, prefix) != id {
				t.Errorf("the identifier %q has a second form: %q", id, s.id(pool, prefix))
			}
			if !ok {
				continue
			}
			got, of, is := s.parseOwner(s.owner(id, address))
			if !is || got != id || of != address {
				t.Errorf("%q and %s: got %q and %s, %v", id, address, got, of, is)
			}
		}
	})
}
