// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"context"
	"maps"
	"net/netip"
	"slices"
)

// Knows says whether there is a network that has a subnet of an address space, and whether an address is its gateway, an auxiliary one or that of an
// endpoint of it.
func (a *Attachments) Knows(ctx context.Context, space string, subnet netip.Prefix, address netip.Addr) (known, has bool, err error) {
	networks, err := a.networks.all(ctx)
	if err != nil {
		return false, false, err
	}
	if err := a.endpoints.load(ctx); err != nil {
		return false, false, err
	}
	for _, n := range networks {
		for _, s := range n.Subnets {
			if s.Space != space || s.Prefix != subnet {
				continue
			}
			known = true
			auxiliary := slices.Contains(slices.Collect(maps.Values(s.Auxiliary)), address)
			if has = s.Gateway == address || auxiliary || a.claims.has(addressThing(n.ID, address)); has {
				return true, true, nil
			}
		}
	}
	return known, false, nil
}
