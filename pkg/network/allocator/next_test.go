// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"net/netip"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		name, set, first, last string
		low, high              int64 // -1: none
	}{
		{"a whole prefix", "10.0.0.0/24", "10.0.0.0", "10.0.0.255", 0, 255},
		{"a part of a prefix", "10.0.0.0/24", "10.0.0.16", "10.0.0.31", 16, 31},
		{"a range around the prefix", "10.0.0.0/24", "9.0.0.0", "11.0.0.0", 0, 255},
		{"a range below the prefix", "10.0.0.0/24", "9.0.0.0", "9.255.255.255", -1, -1},
		{"a range above the prefix", "10.0.0.0/24", "10.0.1.0", "10.0.1.1", -1, -1},
		{"finds nothing between two ranges", "10.0.0.0-10.0.0.3 10.0.0.8-10.0.0.9", "10.0.0.4", "10.0.0.7", -1, -1},
		{"spans the gap between two ranges", "10.0.0.0-10.0.0.3 10.0.0.8-10.0.0.9", "10.0.0.2", "10.0.0.8", 2, 4},
		{"from a gap to a gap", "10.0.0.0-10.0.0.3 10.0.0.8-10.0.0.9 10.0.0.12/32", "10.0.0.5", "10.0.0.11", 4, 5},
		{"finds nothing of another family", "10.0.0.0/24", "fd00::", "fd00::1", -1, -1},
		{"a pool without addresses", "", "10.0.0.0", "10.0.0.255", -1, -1},
		{"part of a /64 with positions", "fd00::/64", "fd00::", "fd00::ffff:ffff:ffff:ffff", 0, 1<<32 - 1},
		{"part of a /64 without positions", "fd00::/64", "fd00::1:0:0:0", "fd00::1:0:0:ffff", -1, -1},
		{"of a /64 a part of both", "fd00::/64", "fd00::ffff:fff0", "fd00::1:0:0", 1<<32 - 16, 1<<32 - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			low, high, ok := allocator.NewSpace(set(t, c.set)).Between(netip.MustParseAddr(c.first), netip.MustParseAddr(c.last))
			if ok != (c.low >= 0) || ok && (int64(low) != c.low || int64(high) != c.high) {
				t.Errorf("got %d to %d, %v; want %d to %d", low, high, ok, c.low, c.high)
			}
		})
	}
}

// FuzzNext checks that Next returns a free address of the range if and only if one exists.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 200, 100}, byte(0), byte(63), uint64(0))
	f.Add([]byte{9, 10, 11, 12}, byte(9), byte(12), uint64(7))
	f.Fuzz(func(t *testing.T, taken []byte, first, last byte, jump uint64) {
		space := allocator.NewSpace(set(t, "10.0.0.0/26 !10.0.0.5-10.0.0.9 10.0.0.128/27"))
		x := allocator.NewIndex(space)
		at := func(b byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, b}) }
		for _, b := range taken {
			x.Take(at(b))
		}
		free := 0
		for b := int(first); b <= int(last); b++ {
			if _, is := space.Position(at(byte(b))); is && !has(x, at(byte(b))) {
				free++
			}
		}
		seen := map[netip.Addr]bool{}
		for range free {
			if jump > 0 {
				x.Next(at(byte(jump)), at(last)) // the search begins behind it
			}
			address, ok := x.Next(at(first), at(last))
			if !ok || address.Less(at(first)) || at(last).Less(address) || has(x, address) {
				t.Fatalf("got %s, %v", address, ok)
			}
			if jump == 0 && seen[address] {
				t.Fatalf("%s is chosen again before all other addresses", address)
			}
			seen[address] = true
		}
		for address := range seen {
			x.Take(address)
		}
		if left := free - len(seen); left == 0 {
			if address, ok := x.Next(at(first), at(last)); ok {
				t.Fatalf("the used address %s was chosen", address)
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, held := range []int{100, 100_000, 10_000_000} {
		b.Run(sizeName(held), func(b *testing.B) {
			x := allocator.NewIndex(allocator.NewSpace(set(b, "10.0.0.0/8")))
			for range held {
				x.Choose()
			}
			first, last := netip.MustParseAddr("10.0.0.0"), netip.MustParseAddr("10.255.255.255")
			b.ReportAllocs()
			for b.Loop() {
				x.Next(first, last)
			}
		})
	}
}
