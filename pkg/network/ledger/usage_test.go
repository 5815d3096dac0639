// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// TestUsageByFamily checks that each family is counted separately, and that the count of VLANs is that of the fullest
// trunk.
func TestUsageByFamily(t *testing.T) {
	pool := ranged(t, "10.0.0.1-10.0.0.4", "fd00::1-fd00::ff")
	pool.FirstVLAN, pool.LastVLAN = 60, 70
	l, err := ledger.Open(t.Context(), memory.Open(t), pool)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for key, in := range map[string]ledger.Intent{
		"a": {Trunk: network.Trunk{Node: "n", MAC: "1"}}, "b": {Trunk: network.Trunk{Node: "n", MAC: "1"}},
		"six": {Trunk: network.Trunk{Node: "n", MAC: "2"}, Families: []int{128}, Addresses: []netip.Addr{netip.MustParseAddr("fd00::77")}},
	} {
		in.Owner, in.Pool, in.State, in.Now = network.Owner{Contract: "test", Key: key}, "pool", network.Bound, now
		if _, _, err := l.Reserve(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Delete(t.Context(), network.Owner{Contract: "test", Key: "a"}, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want := ledger.Usage{
		Size: 4 + 255, Held: 3, Quarantined: 2, VLANs: 11, TakenVLANs: 2,
		Families: []ledger.FamilyUsage{{Bits: 32, Size: 4, Held: 1, Quarantined: 1}, {Bits: 128, Size: 255, Held: 2, Quarantined: 1}},
	}
	if diff := cmp.Diff(want, l.Usage("pool")); diff != "" {
		t.Error(diff)
	}
}
