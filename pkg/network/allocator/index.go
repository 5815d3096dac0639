// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"iter"
	"net/netip"

	"github.com/RoaringBitmap/roaring/v2"
)

// Index knows which addresses of a subnet are taken. A million addresses next to each other take a few kilobytes.
type Index struct {
	space *Space
	// taken are positions; others are taken addresses without one, which were asked for by name.
	taken  *roaring.Bitmap
	others map[netip.Addr]struct{}
	// next is where the search for a free position begins.
	next uint32
}

// NewIndex is an index in which all addresses are free.
func NewIndex(space *Space) *Index {
	return &Index{space: space, taken: roaring.New(), others: map[netip.Addr]struct{}{}}
}

// Take takes an address; false when it is taken already.
func (x *Index) Take(address netip.Addr) bool {
	if position, ok := x.space.Position(address); ok {
		return x.taken.CheckedAdd(position)
	}
	_, taken := x.others[address]
	x.others[address] = struct{}{}
	return !taken
}

// Has says whether an address is taken.
func (x *Index) Has(address netip.Addr) bool {
	if position, ok := x.space.Position(address); ok {
		return x.taken.Contains(position)
	}
	_, taken := x.others[address]
	return taken
}

// Free gives an address back; one that is free stays so.
func (x *Index) Free(address netip.Addr) {
	if position, ok := x.space.Position(address); ok {
		x.taken.Remove(position)
		return
	}
	delete(x.others, address)
}

// Len is the number of taken addresses.
func (x *Index) Len() uint64 { return x.taken.GetCardinality() + uint64(len(x.others)) }

// Choose takes the next free address behind the one that was chosen last, and after the highest goes on at the lowest; false
// when none is free.
func (x *Index) Choose() (netip.Addr, bool) {
	if x.space.size == 0 {
		return netip.Addr{}, false
	}
	position, ok := x.free(x.next)
	if !ok {
		position, ok = x.free(0)
	}
	if !ok {
		return netip.Addr{}, false
	}
	x.taken.Add(position)
	x.next = position + 1
	if uint64(position)+1 >= x.space.size {
		x.next = 0
	}
	return x.space.Address(position), true
}

// free is the first free position from one on.
func (x *Index) free(from uint32) (uint32, bool) {
	position := x.taken.NextAbsentValue(from)
	return uint32(position), position >= 0 && uint64(position) < x.space.size
}

// All are the taken addresses, in no order.
func (x *Index) All() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for positions := x.taken.Iterator(); positions.HasNext(); {
			if !yield(x.space.Address(positions.Next())) {
				return
			}
		}
		for address := range x.others {
			if !yield(address) {
				return
			}
		}
	}
}
