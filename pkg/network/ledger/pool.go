// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// Pool holds the settings of a pool that the ledger needs.
type Pool struct {
	Name string
	// Subnets are of different families, at most one of each.
	Subnets []Subnet
	// FirstVLAN and LastVLAN are the ends of the range of VLANs. If both are 0, the pool allocates no VLANs.
	FirstVLAN, LastVLAN uint16
	// MACPrefix is the prefix of allocated MAC addresses. If empty, none are allocated.
	MACPrefix []byte
	// Quarantine is the quarantine of released resources, or 0 if it is unknown. A row with a later end was written by
	// a wrong clock.
	Quarantine time.Duration
}

// Subnet is one family of a pool.
type Subnet struct {
	Prefix netip.Prefix
	// Dynamic are the addresses that are allocated automatically, and Static those that are allocated only by name.
	Dynamic, Static *netipx.IPSet
}

// pool is a Pool with its usage.
type pool struct {
	Pool
	indexes []*allocator.Index
}

func newPool(p Pool) (*pool, error) {
	if p.Name == "" || strings.Contains(p.Name, "/") {
		return nil, fmt.Errorf("the name of the pool %q is empty or has a slash", p.Name)
	}
	made := &pool{Pool: p}
	for i, subnet := range p.Subnets {
		if subnet.Dynamic == nil {
			return nil, fmt.Errorf("the pool %s has no list of addresses of %s", p.Name, subnet.Prefix)
		}
		for _, other := range p.Subnets[:i] {
			if other.Prefix.Addr().BitLen() == subnet.Prefix.Addr().BitLen() {
				return nil, fmt.Errorf("the pool %s has two subnets of one family", p.Name)
			}
		}
		made.indexes = append(made.indexes, allocator.NewIndex(allocator.NewSpace(subnet.Dynamic)))
	}
	return made, nil
}

func newPools(pools []Pool) (map[string]*pool, error) {
	all := map[string]*pool{}
	for _, p := range pools {
		made, err := newPool(p)
		if err != nil {
			return nil, err
		}
		if all[p.Name] != nil {
			return nil, fmt.Errorf("there are two pools %s", p.Name)
		}
		all[p.Name] = made
	}
	return all, nil
}

// subnet returns the index of the subnet with an address in its ranges. The error wraps network.ErrOutside if there is none.
func (p *pool) subnet(address netip.Addr) (int, error) {
	if i := p.find(address); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%w: %s is in no range of the pool %s", network.ErrOutside, address, p.Name)
}

// find returns the index of the subnet with an address in its ranges, or -1.
func (p *pool) find(address netip.Addr) int {
	return slices.IndexFunc(p.Subnets, func(subnet Subnet) bool {
		return subnet.Dynamic.Contains(address) || subnet.Static != nil && subnet.Static.Contains(address)
	})
}

// accepts reports whether all addresses are in ranges. A pool without subnets accepts all, because its cloud chooses them; a missing
// pool accepts none.
func (p *pool) accepts(addresses []netip.Addr) bool {
	return p != nil && (len(p.Subnets) == 0 || !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return p.find(a) < 0 }))
}

// family returns the index of the subnet of an address's family, or -1.
func (p *pool) family(of netip.Addr) int {
	if p != nil {
		for i, subnet := range p.Subnets {
			if subnet.Prefix.Addr().BitLen() == of.BitLen() {
				return i
			}
		}
	}
	return -1
}

// mark marks an address as used or free, whether or not it is in a range.
func (p *pool) mark(address netip.Addr, used bool) {
	i := p.family(address)
	switch {
	case i < 0:
	case used:
		p.indexes[i].Take(address)
	default:
		p.indexes[i].Free(address)
	}
}

// continueFrom continues the search for free addresses where that of the same pool was, as far as its ranges are the
// same.
func (p *pool) continueFrom(old *pool) {
	for i, subnet := range p.Subnets {
		if at := old.family(subnet.Prefix.Addr()); at >= 0 && old.Subnets[at].Dynamic.Equal(subnet.Dynamic) {
			p.indexes[i].Continue(old.indexes[at])
		}
	}
}
