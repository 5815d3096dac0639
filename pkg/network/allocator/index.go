// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package allocator selects addresses, VLANs and MAC addresses. It uses no clock, writes nothing and is not safe for
// concurrent use; the ledger calls it while it holds a pool. It prefers the least recently released address as far as
// this is cheap: the search continues after the last selection and wraps around.
//
// Start reading at NewSpace, NewIndex and NewVLANs.
package allocator

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
	"go4.org/netipx"
)

// positions records which numbers are free. It stores the free ones because the bitmap reliably finds only the next
// contained value (roaring v2.30, beyond 65,536).
type positions struct {
	free *roaring.Bitmap
	// next is where the search for a free position begins.
	next uint32
}

// newPositions returns the positions from first to end (excluded), all free.
func newPositions(first, end uint64) positions {
	free := roaring.New()
	free.AddRange(first, end)
	return positions{free: free}
}

// find returns the next free position from low to high, inclusively, and moves the start of the next search behind it.
func (p *positions) find(low, high uint32) (uint32, bool) {
	position := int64(-1)
	if p.next >= low {
		position = p.free.NextValue(p.next)
	}
	if position < 0 || position > int64(high) {
		position = p.free.NextValue(low)
	}
	if position < 0 || position > int64(high) {
		return 0, false
	}
	p.next = uint32(position) + 1 // after the last range it is 0
	return uint32(position), true
}

// Index records the used addresses of a subnet. A million consecutive addresses take a few kilobytes.
type Index struct {
	positions
	space *Space
	// others holds taken addresses without a position, which were requested by address.
	others map[netip.Addr]struct{}
}

// NewIndex returns an index with all addresses free.
func NewIndex(space *Space) *Index {
	return &Index{positions: newPositions(0, space.size), space: space, others: map[netip.Addr]struct{}{}}
}

// Take marks an address as used. It returns false if it is used already.
func (x *Index) Take(address netip.Addr) bool {
	if position, ok := x.space.Position(address); ok {
		return x.free.CheckedRemove(position)
	}
	_, taken := x.others[address]
	x.others[address] = struct{}{}
	return !taken
}

// Free marks an address as free.
func (x *Index) Free(address netip.Addr) {
	if position, ok := x.space.Position(address); ok {
		x.free.Add(position)
		return
	}
	delete(x.others, address)
}

// Size returns the number of addresses that can be chosen.
func (x *Index) Size() uint64 { return x.space.size }

// Len returns the number of taken addresses.
func (x *Index) Len() uint64 { return x.space.size - x.free.GetCardinality() + uint64(len(x.others)) }

// Choose marks the next free address after the last chosen one as used and returns it. After the highest address it
// continues with the lowest. It returns false if no address is free.
func (x *Index) Choose() (netip.Addr, bool) {
	if x.space.size == 0 {
		return netip.Addr{}, false
	}
	position, ok := x.find(0, uint32(x.space.size-1))
	if !ok {
		return netip.Addr{}, false
	}
	x.free.Remove(position)
	return x.space.Address(position), true
}

// Next returns the next free address from first to last, inclusively, without taking it. The next search begins after
// it, so that a concurrent caller gets another one. It returns false if none is free.
func (x *Index) Next(first, last netip.Addr) (netip.Addr, bool) {
	low, high, ok := x.space.Between(first, last)
	if !ok {
		return netip.Addr{}, false
	}
	position, ok := x.find(low, high)
	if !ok {
		return netip.Addr{}, false
	}
	return x.space.Address(position), true
}

// Gives reports whether Next can return an address from first to last.
func (x *Index) Gives(first, last netip.Addr) bool {
	_, _, ok := x.space.Between(first, last)
	return ok
}

// Continue continues the search for a free position where that of another index of the same space was.
func (x *Index) Continue(from *Index) { x.next = from.next }

// maximumSize is the number of addresses in a subnet that can be selected automatically: positions have 32 bits. The
// addresses of a larger subnet, such as an IPv6 /64, can still be requested by address.
const maximumSize = 1 << 32

// Space numbers the addresses of one subnet that are allocated automatically. It is immutable.
type Space struct {
	ranges []netipx.IPRange
	// first is the position of each range's first address.
	first []uint64
	size  uint64
}

// NewSpace numbers the addresses of a set, which are of one family, from the lowest.
func NewSpace(set *netipx.IPSet) *Space {
	s := &Space{}
	for _, r := range set.Ranges() {
		if s.size >= maximumSize {
			break
		}
		s.ranges, s.first = append(s.ranges, r), append(s.first, s.size)
		s.size += min(span(r.From(), r.To()), maximumSize-s.size)
	}
	return s
}

// Size returns the number of addresses with a position.
func (s *Space) Size() uint64 { return s.size }

// Position returns the position of an address, or false if it has none.
func (s *Space) Position(address netip.Addr) (uint32, bool) {
	i := sort.Search(len(s.ranges), func(i int) bool { return address.Less(s.ranges[i].From()) }) - 1
	if i < 0 || !s.ranges[i].Contains(address) {
		return 0, false
	}
	offset := span(s.ranges[i].From(), address) - 1
	if offset >= s.size-s.first[i] {
		return 0, false
	}
	return uint32(s.first[i] + offset), true
}

// Between returns the positions of the lowest and the highest address from first to last, inclusively. It returns false
// if none has a position.
func (s *Space) Between(first, last netip.Addr) (low, high uint32, ok bool) {
	begin := sort.Search(len(s.ranges), func(i int) bool { return !s.ranges[i].To().Less(first) })
	end := sort.Search(len(s.ranges), func(i int) bool { return last.Less(s.ranges[i].From()) }) - 1
	if begin > end || first.BitLen() != s.ranges[begin].From().BitLen() {
		return 0, 0, false
	}
	at, to := s.first[begin], s.ranges[end].To()
	if from := s.ranges[begin].From(); from.Less(first) {
		at += min(span(from, first)-1, s.size)
	}
	if last.Less(to) {
		to = last
	}
	until := min(s.first[end]+min(span(s.ranges[end].From(), to)-1, s.size), s.size-1)
	return uint32(at), uint32(until), at <= until
}

// Address returns the address at a position below Size.
func (s *Space) Address(position uint32) netip.Addr {
	i := sort.Search(len(s.first), func(i int) bool { return s.first[i] > uint64(position) }) - 1
	return add(s.ranges[i].From(), uint64(position)-s.first[i])
}

// span returns the number of addresses between two addresses of the same family, inclusively, limited to 64 bits.
func span(from, to netip.Addr) uint64 {
	a, b := from.As16(), to.As16()
	low, borrow := bits.Sub64(binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(a[8:]), 0)
	high, _ := bits.Sub64(binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(a[:8]), borrow)
	if high > 0 || low == 1<<64-1 {
		return 1<<64 - 1
	}
	return low + 1
}

// add returns the address plus an offset.
func add(address netip.Addr, offset uint64) netip.Addr {
	a := address.As16()
	low, carry := bits.Add64(binary.BigEndian.Uint64(a[8:]), offset, 0)
	high, _ := bits.Add64(binary.BigEndian.Uint64(a[:8]), 0, carry)
	binary.BigEndian.PutUint64(a[8:], low)
	binary.BigEndian.PutUint64(a[:8], high)
	sum := netip.AddrFrom16(a)
	if address.Is4() {
		return sum.Unmap()
	}
	return sum
}
