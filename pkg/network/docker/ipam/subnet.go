// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// find returns the pool with the requested subnet.
func (l *Driver) find(r PoolRequest) (*policy.Pool, string, error) {
	in := l.options.Policy()
	c, err := choose(in, r.Options)
	if err != nil {
		return nil, "", err
	}
	if c.free {
		if pool := in.PoolOf(r.Subnet); pool != nil {
			return pool, "", nil
		}
		c.pools = slices.Collect(maps.Values(in.Pools))
		return nil, "", fmt.Errorf("%w: no pool has the subnet %s; %s", network.ErrOutside, r.Subnet, source.ThereAre(c.texts()))
	}
	for _, of := range c.subnets() {
		if of.prefix == r.Subnet {
			return of.pool, c.profile, nil
		}
	}
	return nil, "", fmt.Errorf("%w: %s has no subnet %s; %s", network.ErrOutside, c.what, r.Subnet, source.ThereAre(c.texts()))
}

// subnetOf returns the subnet of a pool with a prefix.
func subnetOf(pool *policy.Pool, prefix netip.Prefix) (ledger.Subnet, bool) {
	if pool != nil {
		for _, subnet := range pool.Subnets {
			if subnet.Prefix == prefix {
				return subnet, true
			}
		}
	}
	return ledger.Subnet{}, false
}

// texts returns the subnets for messages.
func (c choice) texts() []string {
	var texts []string
	for _, of := range c.subnets() {
		texts = append(texts, of.prefix.String())
	}
	slices.Sort(texts)
	return texts
}

// candidate is a subnet to lease, with the profile that allows it.
type candidate struct {
	pool    *policy.Pool
	prefix  netip.Prefix
	profile string
}

// candidates returns the subnets that match a request without a subnet.
func candidates(c choice, r PoolRequest) []candidate {
	return slices.DeleteFunc(c.subnets(), func(of candidate) bool {
		length := r.Subnet.IsValid() && r.Subnet.Bits() > 0 && r.Subnet.Bits() != of.prefix.Bits()
		return of.prefix.Addr().Is6() != r.Six || length
	})
}

// noSubnet returns the error for a request without candidates.
func noSubnet(c choice, r PoolRequest) error {
	family := "IPv4"
	if r.Six {
		family = "IPv6"
	}
	if has := c.texts(); len(has) > 0 {
		return fmt.Errorf("%w: %s has no subnet of %s that is wanted; %s", network.ErrOutside, c.what, family, source.ThereAre(has))
	}
	return fmt.Errorf("%w: %s has no subnet: what its cloud chooses cannot be leased", network.ErrOutside, c.what)
}

// checkRange validates the range from which addresses are chosen.
func checkRange(pool *policy.Pool, prefix, part netip.Prefix) error {
	if !part.IsValid() {
		return nil
	}
	if part.Bits() < prefix.Bits() || !prefix.Contains(part.Addr()) {
		return fmt.Errorf("%w: the range %s is not in the subnet %s", network.ErrOutside, part, prefix)
	}
	subnet, has := subnetOf(pool, prefix)
	if !has {
		return nil
	}
	of := netipx.RangeOfPrefix(part)
	if _, _, gives := allocator.NewSpace(subnet.Dynamic).Between(of.From(), of.To()); !gives {
		return fmt.Errorf("%w: the pool %s gives no address of the range %s by choice", network.ErrOutside, pool.Name, part)
	}
	return nil
}

// gatewayOf returns the gateway that a pool declares in a subnet, or the zero Addr.
func gatewayOf(pool *policy.Pool, prefix netip.Prefix) netip.Addr {
	if pool != nil {
		for _, gateway := range pool.Gateways {
			if prefix.Contains(gateway) {
				return gateway
			}
		}
	}
	return netip.Addr{}
}
