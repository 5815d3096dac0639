// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// set is a set of ranges and prefixes; those that begin with ! are taken out.
func set(t testing.TB, text string) *netipx.IPSet {
	t.Helper()
	var b netipx.IPSetBuilder
	for _, word := range strings.Fields(text) {
		bare, out := strings.CutPrefix(word, "!")
		prefix, err := netip.ParsePrefix(bare)
		if err == nil {
			if out {
				b.RemovePrefix(prefix)
			} else {
				b.AddPrefix(prefix)
			}
			continue
		}
		r, err := netipx.ParseIPRange(bare)
		if err != nil {
			t.Fatal(err)
		}
		if out {
			b.RemoveRange(r)
		} else {
			b.AddRange(r)
		}
	}
	found, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSpace(t *testing.T) {
	for _, c := range []struct {
		name, set string
		size      uint64
		// positions of addresses; -1 for none.
		positions map[string]int64
	}{
		{"numbers all addresses of a subnet", "10.0.0.0/24", 256, map[string]int64{"10.0.0.0": 0, "10.0.0.255": 255, "10.0.1.0": -1, "9.255.255.255": -1, "::1": -1}},
		{"numbers the addresses of two ranges", "10.0.0.10-10.0.0.12 10.0.0.20-10.0.0.21", 5, map[string]int64{"10.0.0.10": 0, "10.0.0.12": 2, "10.0.0.13": -1, "10.0.0.20": 3, "10.0.0.21": 4}},
		{"skips excluded addresses", "10.0.0.0/30 !10.0.0.1-10.0.0.2", 2, map[string]int64{"10.0.0.0": 0, "10.0.0.1": -1, "10.0.0.3": 1}},
		{"has no address without a range", "", 0, map[string]int64{"10.0.0.0": -1}},
		{"all of IPv4", "0.0.0.0/0", 1 << 32, map[string]int64{"0.0.0.0": 0, "255.255.255.255": 1<<32 - 1}},
		{"a /64: the first 2^32", "fd00::/64", 1 << 32, map[string]int64{"fd00::": 0, "fd00::ffff:ffff": 1<<32 - 1, "fd00::1:0:0": -1, "fd01::": -1}},
		{"a range over a boundary of 64 bits", "fd00::ffff:ffff:ffff:fffe-fd00:0:0:1::1", 4, map[string]int64{"fd00:0:0:1::1": 3, "fd00:0:0:1::": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			space := allocator.NewSpace(set(t, c.set))
			if space.Size() != c.size {
				t.Errorf("got size %d, want %d", space.Size(), c.size)
			}
			for text, want := range c.positions {
				address, got := netip.MustParseAddr(text), int64(-1)
				if position, ok := space.Position(address); ok {
					got = int64(position)
					if back := space.Address(position); back != address {
						t.Errorf("position %d of %s is that of %s", position, address, back)
					}
				}
				if got != want {
					t.Errorf("%s: got position %d, want %d", text, got, want)
				}
			}
		})
	}
}

func TestIndex(t *testing.T) {
	x := allocator.NewIndex(allocator.NewSpace(set(t, "10.0.0.0/29 !10.0.0.0/32 !10.0.0.7/32")))
	choose := func(want string) {
		t.Helper()
		got := "none"
		if address, ok := x.Choose(); ok {
			got = address.String()
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if !x.Take(netip.MustParseAddr("10.0.0.2")) || x.Take(netip.MustParseAddr("10.0.0.2")) {
		t.Error("an address must be taken once")
	}
	choose("10.0.0.1")
	choose("10.0.0.3")
	choose("10.0.0.4")
	x.Free(netip.MustParseAddr("10.0.0.1"))
	choose("10.0.0.5")
	choose("10.0.0.6")
	choose("10.0.0.1")
	choose("none")
	x.Free(netip.MustParseAddr("10.0.0.4"))
	x.Free(netip.MustParseAddr("10.0.0.4"))
	if got := x.Len(); got != 5 {
		t.Errorf("got %d taken, want 5", got)
	}
	choose("10.0.0.4")

	// A reserved address is only allocated by name.
	reserved := netip.MustParseAddr("10.0.0.0")
	if has(x, reserved) || !x.Take(reserved) || x.Take(reserved) || !has(x, reserved) || x.Len() != 7 {
		t.Error("a reserved address must be taken once, and be counted")
	}
	x.Free(reserved)
	if has(x, reserved) {
		t.Error("a reserved address that was given back must be free")
	}
}

func TestVLANs(t *testing.T) {
	v := allocator.NewVLANs()
	var got []uint16
	for range 3 {
		id, _ := v.Choose(100, 102)
		got = append(got, id)
	}
	if _, ok := v.Choose(100, 102); ok {
		t.Error("Choose returns a VLAN beyond the last free one")
	}
	v.Free(101)
	id, _ := v.Choose(100, 102)
	got = append(got, id)
	if diff := cmp.Diff([]uint16{100, 101, 102, 101}, got); diff != "" {
		t.Errorf("VLANs (-want +got):\n%s", diff)
	}
	for _, id := range []uint16{0, 4095, 5000} {
		if v.Take(id) {
			t.Errorf("%d is no VLAN", id)
		}
	}
	if !v.Take(4094) || v.Take(4094) || v.Len() != 4 {
		t.Error("4094 must be taken once")
	}
	if id, ok := v.Choose(0, 9999); !ok || id != 103 {
		t.Errorf("got %d, want the one behind the last", id)
	}
}

func TestMAC(t *testing.T) {
	for _, c := range []struct{ prefix, address, want string }{
		{"0211", "10.1.2.3", "02110a010203"},
		{"021122", "10.1.2.3", "021122010203"},
		{"0211223344", "10.1.2.3", "021122334403"},
	} {
		prefix, err := hex.DecodeString(c.prefix)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(allocator.MAC(prefix, netip.MustParseAddr(c.address), 0)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.prefix, c.address, got, c.want)
		}
	}
	six := netip.MustParseAddr("fd00::1")
	first, again, second := allocator.MAC([]byte{2}, six, 0), allocator.MAC([]byte{2}, six, 0), allocator.MAC([]byte{2}, six, 1)
	if !cmp.Equal(first, again) || cmp.Equal(first, second) || first[0] != 2 || len(first) != 6 {
		t.Errorf("got %x, %x and %x", first, again, second)
	}
}

// FuzzIndex compares the index with a map.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 200, 100})
	f.Fuzz(func(t *testing.T, steps []byte) {
		x := allocator.NewIndex(allocator.NewSpace(set(t, "10.0.0.0/26 !10.0.0.5-10.0.0.9 fd00::/127")))
		taken := map[netip.Addr]bool{}
		for _, step := range steps {
			address := netip.AddrFrom4([4]byte{10, 0, 0, step % 80})
			switch step / 80 {
			case 0:
				if x.Take(address) == taken[address] {
					t.Fatalf("%s: taken is %v", address, taken[address])
				}
				taken[address] = true
			case 1:
				x.Free(address)
				delete(taken, address)
			default:
				chosen, ok := x.Choose()
				if ok && taken[chosen] {
					t.Fatalf("%s is taken, and was chosen", chosen)
				}
				if ok {
					taken[chosen] = true
				}
			}
			if x.Len() != uint64(len(taken)) {
				t.Fatalf("got %d taken, want %d", x.Len(), len(taken))
			}
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	for _, held := range []int{100, 100_000, 10_000_000} {
		b.Run(sizeName(held), func(b *testing.B) {
			x := allocator.NewIndex(allocator.NewSpace(set(b, "10.0.0.0/8")))
			for range held {
				x.Choose()
			}
			b.ReportAllocs()
			for b.Loop() {
				address, _ := x.Choose()
				x.Free(address)
			}
		})
	}
}

func sizeName(held int) string {
	switch held {
	case 100:
		return "100"
	case 100_000:
		return "100k"
	default:
		return "10M"
	}
}

// TestChooseBeyondAPage fills a subnet that is larger than a page of the bitmap, with gaps at the edges of pages.
func TestChooseBeyondAPage(t *testing.T) {
	const size = 1<<17 + 1<<15
	first := netip.MustParseAddr("10.0.0.0")
	var b netipx.IPSetBuilder
	b.AddRange(netipx.IPRangeFrom(first, netip.MustParseAddr("10.2.127.255")))
	set, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	index := allocator.NewIndex(allocator.NewSpace(set))
	seen := map[netip.Addr]bool{}
	for range size {
		address, ok := index.Choose()
		if !ok || seen[address] {
			t.Fatalf("got %s and %t after %d", address, ok, len(seen))
		}
		seen[address] = true
	}
	if address, ok := index.Choose(); ok || index.Len() != size {
		t.Fatalf("got %s of a full subnet, in which %d are taken", address, index.Len())
	}
	for _, text := range []string{"10.0.255.255", "10.1.0.0", "10.1.255.255", "10.2.127.255"} {
		free := netip.MustParseAddr(text)
		index.Free(free)
		if address, ok := index.Choose(); !ok || address != free {
			t.Errorf("got %s, where %s is free", address, free)
		}
	}
}

// TestTakenVLANs compares the count with a count of single VLANs.
func TestTakenVLANs(t *testing.T) {
	v := allocator.NewVLANs()
	taken := []uint16{1, 63, 64, 65, 127, 128, 2000, 4094}
	for _, id := range taken {
		v.Take(id)
	}
	ends := []uint16{0, 1, 62, 63, 64, 65, 100, 127, 128, 129, 2000, 4093, 4094, 4095}
	for _, first := range ends {
		for _, last := range ends {
			want := 0
			for _, id := range taken {
				if first <= id && id <= last {
					want++
				}
			}
			if got := v.Taken(first, last); got != want {
				t.Errorf("%d to %d: %d, want %d", first, last, got, want)
			}
		}
	}
}

// has reports whether an address is taken. The index is unchanged.
func has(x *allocator.Index, address netip.Addr) bool {
	free := x.Take(address)
	if free {
		x.Free(address)
	}
	return !free
}

// FuzzVLANs checks that an accepted range of VLANs is valid and ordered.
func FuzzVLANs(f *testing.F) {
	for _, seed := range []string{"100-4000", "1", "4094", "0", "4095", "9-1", "-", "+1", "1-", "１", "0x10", "1_0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last, err := allocator.ParseVLANs(text)
		if err == nil && (first < allocator.FirstVLAN || last > allocator.LastVLAN || last < first) {
			t.Errorf("%q is %d to %d", text, first, last)
		}
	})
}
