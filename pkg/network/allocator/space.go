// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"sort"

	"go4.org/netipx"
)

// maximumSize is the number of addresses in a subnet that can be selected automatically: positions have 32 bits. The
// addresses of a larger subnet, such as an IPv6 /64, can still be requested by address.
const maximumSize = 1 << 32

// Space numbers the addresses of one subnet that are given out by choice. It is immutable.
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
