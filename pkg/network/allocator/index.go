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
	// free holds positions; others holds taken addresses without a position, which were requested by address. It stores
	// the free positions because the bitmap reliably finds only the next contained value (roaring v2.30, beyond
	// 65,536).
	free   *roaring.Bitmap
	others map[netip.Addr]struct{}
	// room is how many positions are free.
	room uint64
	// next is where the search for a free position begins.
	next uint32
}

// NewIndex returns an index with all addresses free.
func NewIndex(space *Space) *Index {
	free := roaring.New()
	free.AddRange(0, space.size)
	return &Index{space: space, free: free, others: map[netip.Addr]struct{}{}, room: space.size}
}

// Take takes an address; false when it is taken already.
func (x *Index) Take(address netip.Addr) bool {
	if position, ok := x.space.Position(address); ok {
		if !x.free.CheckedRemove(position) {
			return false
		}
		x.room--
		return true
	}
	_, taken := x.others[address]
	x.others[address] = struct{}{}
	return !taken
}

// Has reports whether an address is taken.
func (x *Index) Has(address netip.Addr) bool {
	if position, ok := x.space.Position(address); ok {
		return !x.free.Contains(position)
	}
	_, taken := x.others[address]
	return taken
}

// Free gives an address back; one that is free stays so.
func (x *Index) Free(address netip.Addr) {
	if position, ok := x.space.Position(address); ok {
		if !x.free.Contains(position) {
			x.free.Add(position)
			x.room++
		}
		return
	}
	delete(x.others, address)
}

// Len returns the number of taken addresses.
func (x *Index) Len() uint64 { return x.space.size - x.room + uint64(len(x.others)) }

// Room returns the number of addresses that Choose can still take.
func (x *Index) Room() uint64 { return x.room }

// Choose takes the next free address behind the one that was chosen last, and after the highest goes on at the lowest; false
// when none is free.
func (x *Index) Choose() (netip.Addr, bool) {
	if x.space.size == 0 {
		return netip.Addr{}, false
	}
	position := x.free.NextValue(x.next)
	if position < 0 {
		position = x.free.NextValue(0)
	}
	if position < 0 {
		return netip.Addr{}, false
	}
	x.free.Remove(uint32(position))
	x.room--
	x.next = uint32(position) + 1 // behind the last it is 0
	return x.space.Address(uint32(position)), true
}

// Gives reports whether Next can return an address from first to last.
func (x *Index) Gives(first, last netip.Addr) bool {
	_, _, ok := x.space.Between(first, last)
	return ok
}

// Next returns the next free address from first to last, inclusively, without taking it. The next search begins after
// it, so that a concurrent caller gets another one; jump moves the start of the search, and 0 continues after the last
// one. It returns false if none is free.
func (x *Index) Next(first, last netip.Addr, jump uint64) (netip.Addr, bool) {
	low, high, ok := x.space.Between(first, last)
	if !ok {
		return netip.Addr{}, false
	}
	from := x.next
	if jump > 0 {
		from = low + uint32(jump%(uint64(high-low)+1))
	}
	if from < low || from > high {
		from = low
	}
	position := x.free.NextValue(from)
	if position < 0 || position > int64(high) {
		position = x.free.NextValue(low)
	}
	if position < 0 || position > int64(high) {
		return netip.Addr{}, false
	}
	x.next = uint32(position) + 1
	return x.space.Address(uint32(position)), true
}

// All iterates over the taken addresses in undefined order.
func (x *Index) All() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		taken := roaring.Flip(x.free, 0, x.space.size)
		for positions := taken.Iterator(); positions.HasNext(); {
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

// Replace copies the content of another index of the same space. The search position stays.
func (x *Index) Replace(by *Index) { x.free, x.others, x.room = by.free, by.others, by.room }

// Jump lets the next choice begin anywhere; seed says where.
func (x *Index) Jump(seed uint64) {
	if x.space.size > 0 {
		x.next = uint32(seed % x.space.size)
	}
}
