// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
)

// TestFind checks that the lease of an address follows from its subnet, also after the pool is removed.
func TestFind(t *testing.T) {
	w := newWorld(t)
	w.do("pool local pool=spare")
	w.do("address local/spare/10.65.0.0/24 10.65.0.7")
	ctx, subnet, address := t.Context(), netip.MustParsePrefix("10.65.0.0/24"), netip.MustParseAddr("10.65.0.7")
	a, pool, err := w.Find(ctx, ipam.LocalSpace, subnet, address)
	if err != nil || pool == nil || pool.Name != "spare" || a.Addresses[0] != address {
		t.Fatalf("found %v of %v, %v", a.Addresses, pool, err)
	}
	if err := w.RecordNetwork(ctx, ipam.LocalSpace, subnet, "net"); err != nil {
		t.Error(err)
	}
	if _, _, err := w.Find(ctx, ipam.LocalSpace, subnet, address.Next()); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("want ErrNotHeld for a free address, got %v", err)
	}
	if _, _, err := w.Find(ctx, "elsewhere", subnet, address); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("want ErrNotHeld for an unknown address space, got %v", err)
	}
	w.retire("spare")
	if a, pool, err = w.Find(ctx, ipam.LocalSpace, subnet, address); err != nil || pool != nil {
		t.Errorf("of a pool that is gone: %v of %v, %v", a, pool, err)
	}
}
