// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
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
	// blocked has the addresses in ranges that rows of other pools name. They are not allocated. The value is true if
	// the pool itself has also allocated the address.
	blocked map[netip.Addr]bool
	// sizes are the numbers of addresses that are allocated automatically.
	sizes []uint64
}

func newPool(p Pool) (*pool, error) {
	if p.Name == "" || strings.Contains(p.Name, "/") {
		return nil, fmt.Errorf("the name of the pool %q is empty or has a slash", p.Name)
	}
	made := &pool{Pool: p, blocked: map[netip.Addr]bool{}}
	for i, subnet := range p.Subnets {
		if subnet.Dynamic == nil {
			return nil, fmt.Errorf("the pool %s has no list of addresses of %s", p.Name, subnet.Prefix)
		}
		for _, other := range p.Subnets[:i] {
			if other.Prefix.Addr().BitLen() == subnet.Prefix.Addr().BitLen() {
				return nil, fmt.Errorf("the pool %s has two subnets of one family", p.Name)
			}
		}
		space := allocator.NewSpace(subnet.Dynamic)
		made.indexes, made.sizes = append(made.indexes, allocator.NewIndex(space)), append(made.sizes, space.Size())
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

// markUsed marks an address that has a row, whether or not it is still in a range.
func (p *pool) markUsed(address netip.Addr) {
	if _, is := p.blocked[address]; is {
		p.blocked[address] = true
		return
	}
	for i, subnet := range p.Subnets {
		if subnet.Prefix.Addr().BitLen() == address.BitLen() {
			p.indexes[i].Take(address)
		}
	}
}

// markFree marks an address as free if only the pool itself has used it.
func (p *pool) markFree(address netip.Addr) {
	if _, is := p.blocked[address]; is {
		p.blocked[address] = false
		return
	}
	for i, subnet := range p.Subnets {
		if subnet.Prefix.Addr().BitLen() == address.BitLen() {
			p.indexes[i].Free(address)
		}
	}
}

// rangeOf returns the first and the last address of a prefix.
func rangeOf(prefix netip.Prefix) (first, last netip.Addr) {
	r := netipx.RangeOfPrefix(prefix)
	return r.From(), r.To()
}

// hasAddresses reports whether an owner's row contains addresses, without decoding it: they precede all similar fields.
func hasAddresses(row []byte) bool {
	_, rest, _ := bytes.Cut(row, []byte(`"addresses":`))
	return bytes.HasPrefix(rest, []byte(`["`))
}

// acceptsAll reports whether all addresses of an allocation are in ranges. For pools without subnets, the cloud selects
// addresses.
func (p *pool) acceptsAll(a network.Allocation) bool {
	if p == nil {
		return false
	}
	for _, address := range a.Addresses {
		if !p.accepts(address) {
			return false
		}
	}
	return true
}

// accepts reports whether an address is in a range. For a pool without subnets, the cloud selects addresses.
func (p *pool) accepts(address netip.Addr) bool {
	return p != nil && (len(p.Subnets) == 0 || p.find(address) >= 0)
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

// outsideAddresses has the addresses of rows that are in no range of their own pool, by the name of the pool: the pool
// was drained or renamed, or belongs to another server. No pool may allocate them while their rows exist.
type outsideAddresses map[string]map[netip.Addr]struct{}

func (s outsideAddresses) add(name string, address netip.Addr) {
	if s[name] == nil {
		s[name] = map[netip.Addr]struct{}{}
	}
	s[name][address] = struct{}{}
}

// remove removes the address and reports whether it was present.
func (s outsideAddresses) remove(name string, address netip.Addr) bool {
	of := s[name]
	_, was := of[address]
	if delete(of, address); len(of) == 0 {
		delete(s, name)
	}
	return was
}

// has reports whether the address is present under any name.
func (s outsideAddresses) has(address netip.Addr) bool {
	for _, of := range s {
		if _, is := of[address]; is {
			return true
		}
	}
	return false
}

// takeAddress marks the address of a row as used in its pool. If it is in no range of its pool, it marks it in the
// pools that could allocate it. The caller holds the mutex.
func (h *hints) takeAddress(name string, address netip.Addr) {
	of := h.pools[name]
	if of != nil {
		of.markUsed(address)
	}
	if of.contains(address) {
		return
	}
	h.outside.add(name, address)
	for _, other := range h.pools {
		other.block(address)
	}
}

// freeAddress reverts takeAddress.
func (h *hints) freeAddress(name string, address netip.Addr) {
	if of := h.pools[name]; of != nil {
		of.markFree(address)
	}
	if !h.outside.remove(name, address) {
		return
	}
	for _, other := range h.pools {
		if _, is := other.blocked[address]; is && !h.outside.has(address) {
			other.unblock(address)
		}
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

// contains reports whether an address is in a range.
func (p *pool) contains(address netip.Addr) bool { return p != nil && p.find(address) >= 0 }

// block marks an address in a range as used because rows of other pools name it.
func (p *pool) block(address netip.Addr) {
	if _, is := p.blocked[address]; is || !p.contains(address) {
		return
	}
	p.blocked[address] = !p.indexes[p.family(address)].Take(address)
}

// unblock reverts block; an address allocated by the pool itself stays taken.
func (p *pool) unblock(address netip.Addr) {
	own, is := p.blocked[address]
	if delete(p.blocked, address); is && !own {
		p.indexes[p.family(address)].Free(address)
	}
}
