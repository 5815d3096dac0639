// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"net/netip"

	"go4.org/netipx"
)

// strays are the addresses of rows that are in no range of their own pool, by its name: the pool was drained, or has another name now, or is
// another server's. No pool may give them before their rows are gone.
type strays map[string]map[netip.Addr]struct{}

func (s strays) add(name string, address netip.Addr) {
	if s[name] == nil {
		s[name] = map[netip.Addr]struct{}{}
	}
	s[name][address] = struct{}{}
}

// remove removes the address and reports whether it was present.
func (s strays) remove(name string, address netip.Addr) bool {
	of := s[name]
	_, was := of[address]
	if delete(of, address); len(of) == 0 {
		delete(s, name)
	}
	return was
}

// has reports whether the address is present under any name.
func (s strays) has(address netip.Addr) bool {
	for _, of := range s {
		if _, is := of[address]; is {
			return true
		}
	}
	return false
}

// takeAddress marks an address as taken that the row of a pool is about: in this pool, and where it is in no range of it, in those that could
// give it. The mutex is held.
func (h *hints) takeAddress(name string, address netip.Addr) {
	of := h.pools[name]
	if of != nil {
		of.note(address)
	}
	if of.gives(address) {
		return
	}
	h.strays.add(name, address)
	for _, other := range h.pools {
		other.block(address)
	}
}

// freeAddress reverts takeAddress.
func (h *hints) freeAddress(name string, address netip.Addr) {
	if of := h.pools[name]; of != nil {
		of.forget(address)
	}
	if !h.strays.remove(name, address) {
		return
	}
	for _, other := range h.pools {
		if _, is := other.blocked[address]; is && !h.strays.has(address) {
			other.unblock(address)
		}
	}
}

// exchange replaces the pools. Addresses known as taken stay taken. The caller holds the mutex.
func (h *hints) exchange(made map[string]*pool) {
	fresh := strays{}
	inherit := func(name string, address netip.Addr) {
		now := made[name]
		if now != nil {
			now.note(address)
		}
		if !now.gives(address) {
			fresh.add(name, address)
		}
	}
	for name, old := range h.pools {
		old.unblockAll()
		now := made[name]
		for i, subnet := range old.Subnets {
			if at := now.family(subnet.Prefix.Addr()); at >= 0 && now.Subnets[at].Dynamic.Equal(subnet.Dynamic) {
				if now.indexes[at] = old.indexes[i]; equalSets(now.Subnets[at].Static, subnet.Static) {
					continue // it was outside of all ranges before as well
				}
			}
			for address := range old.indexes[i].All() {
				inherit(name, address)
			}
		}
	}
	for name, addresses := range h.strays {
		for address := range addresses {
			inherit(name, address)
		}
	}
	h.pools, h.strays = made, fresh
	for _, addresses := range fresh {
		for address := range addresses {
			for _, of := range made {
				of.block(address)
			}
		}
	}
}

// gives reports whether an address is in a range.
func (p *pool) gives(address netip.Addr) bool {
	if p == nil {
		return false
	}
	for _, subnet := range p.Subnets {
		if subnet.Dynamic.Contains(address) || subnet.Static != nil && subnet.Static.Contains(address) {
			return true
		}
	}
	return false
}

// block marks an address as taken that is in a range, and that rows of other pools are about.
func (p *pool) block(address netip.Addr) {
	if _, is := p.blocked[address]; is || !p.gives(address) {
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

func (p *pool) unblockAll() {
	for address := range p.blocked {
		p.unblock(address)
	}
}

// equals reports whether two pools are equal except for their usage.
func (p *pool) equals(other *pool) bool {
	if other == nil || p.Name != other.Name || p.FirstVLAN != other.FirstVLAN || p.LastVLAN != other.LastVLAN || p.Rest != other.Rest ||
		!bytes.Equal(p.MACPrefix, other.MACPrefix) || len(p.Subnets) != len(other.Subnets) {
		return false
	}
	for i, subnet := range p.Subnets {
		of := other.Subnets[i]
		if subnet.Prefix != of.Prefix || !subnet.Dynamic.Equal(of.Dynamic) || !equalSets(subnet.Static, of.Static) {
			return false
		}
	}
	return true
}

func equalSets(a, b *netipx.IPSet) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b)
}
