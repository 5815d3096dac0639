// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The numbers that a VLAN can have (IEEE 802.1Q): 0 and 4095 are reserved.
const (
	FirstVLAN = 1
	LastVLAN  = 4094
)

// VLANs records the used VLANs of one trunk.
type VLANs struct{ positions }

// NewVLANs returns a trunk with all VLANs free.
func NewVLANs() *VLANs { return &VLANs{newPositions(FirstVLAN, LastVLAN+1)} }

// Take marks a VLAN as used. It returns false if it is used already or outside of the range.
func (v *VLANs) Take(id uint16) bool { return v.free.CheckedRemove(uint32(id)) }

// Free marks a VLAN as free.
func (v *VLANs) Free(id uint16) {
	if id >= FirstVLAN && id <= LastVLAN {
		v.free.Add(uint32(id))
	}
}

// Len returns the number of taken VLANs.
func (v *VLANs) Len() int { return v.Taken(FirstVLAN, LastVLAN) }

// Taken returns the number of taken VLANs from first to last.
func (v *VLANs) Taken(first, last uint16) int {
	if first, last = max(first, FirstVLAN), min(last, LastVLAN); first > last {
		return 0
	}
	return int(last-first) + 1 - int(v.free.Rank(uint32(last))-v.free.Rank(uint32(first)-1))
}

// Choose marks the next free VLAN from first to last, after the last chosen one, as used and returns it. It returns
// false if none is free.
func (v *VLANs) Choose(first, last uint16) (uint16, bool) {
	id, ok := v.find(uint32(first), uint32(last))
	return uint16(id), ok && v.Take(uint16(id))
}

// Continue continues the search for a free VLAN where that of another set was.
func (v *VLANs) Continue(from *VLANs) { v.next = from.next }

// lengthMAC is the length of a MAC address of Ethernet in bytes.
const lengthMAC = 6

// MAC returns a MAC address with the prefix (up to five bytes) for an address: always the same for the same arguments.
// attempt counts from 0; each attempt returns another address, in case one is taken.
func MAC(prefix []byte, address netip.Addr, attempt int) []byte {
	mac := make([]byte, lengthMAC)
	n := copy(mac, prefix[:min(len(prefix), lengthMAC-1)])
	raw := address.AsSlice()
	// The low bytes of an IPv4 address identify it in its pool if the prefix is short enough.
	if attempt == 0 && address.Is4() {
		copy(mac[n:], raw[max(0, len(raw)-(lengthMAC-n)):])
		return mac
	}
	sum := sha256.Sum256(append(raw, byte(attempt)))
	copy(mac[n:], sum[:])
	return mac
}

// ParseVLANs reads a VLAN, or the first and the last of a range. It fails if one is not a VLAN, or if the range ends before
// it begins.
func ParseVLANs(text string) (first, last uint16, err error) {
	one, other, found := strings.Cut(text, "-")
	if !found {
		other = one
	}
	if first, err = parseVLAN(one); err == nil {
		last, err = parseVLAN(other)
	}
	switch {
	case err != nil:
		return 0, 0, err
	case last < first:
		return 0, 0, fmt.Errorf("%q ends before it begins", text)
	}
	return first, last, nil
}

func parseVLAN(text string) (uint16, error) {
	id, err := strconv.ParseUint(text, 10, 16)
	if err != nil || text[0] == '+' || id < FirstVLAN || id > LastVLAN {
		return 0, fmt.Errorf("%q is not a VLAN: they are %d to %d, and a range is written as 100-4000", text, FirstVLAN, LastVLAN)
	}
	return uint16(id), nil
}
