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

// Knows says whether a network is there, all of it, that has a subnet of an address space, and whether an address is the gateway, an auxiliary one or that
// of an endpoint of any network that has the subnet, however far that has come.
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
