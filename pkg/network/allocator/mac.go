// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"crypto/sha256"
	"net/netip"
)

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
