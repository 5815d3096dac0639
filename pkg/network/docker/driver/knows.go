// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"maps"
	"net/netip"
	"slices"
)

// Knows reports whether a complete network with a subnet of the address space exists. has reports whether the
// address is the gateway, an auxiliary address or that of an endpoint, in any network with the subnet, complete
// or not.
func (a *Driver) Knows(ctx context.Context, network, space string, subnet netip.Prefix, address netip.Addr) (there, has bool, err error) {
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
			there = there || n.ID == network && n.State == ready
			auxiliary := slices.Contains(slices.Collect(maps.Values(s.Auxiliary)), address)
			has = has || s.Gateway == address || auxiliary || a.claims.has(addressThing(n.ID, address))
		}
	}
	return there, has, nil
}
