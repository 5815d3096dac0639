// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"errors"
	"net"
	"net/netip"
)

// ParsePrefix reads a CIDR of a configuration: an address with the length of its subnet, or a network. An IPv4 address must be written as one.
func ParsePrefix(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, errors.New(quote(text) + " is not a CIDR such as 10.0.0.5/24")
	}
	if prefix.Addr().Is4In6() {
		return prefix, errors.New(quote(text) + " is an IPv4 address that is written as an IPv6 one")
	}
	return prefix, nil
}

// ParseAddr reads an address without a length and without a zone.
func ParseAddr(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return address, errors.New(quote(text) + " is not an IP address")
	case address.Zone() != "":
		return address, errors.New(quote(text) + " has a zone")
	case address.Is4In6():
		return address, errors.New(quote(text) + " is an IPv4 address that is written as an IPv6 one")
	}
	return address, nil
}

// parseMAC reads a hardware address of any length that interfaces have.
func parseMAC(text string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(text)
	if err != nil {
		return nil, errors.New(quote(text) + " is not a MAC address")
	}
	return mac, nil
}

// canonical returns the canonical form of a CIDR, or the text itself if it is invalid.
func canonical(cidr string) string {
	if prefix, err := ParsePrefix(cidr); err == nil {
		return prefix.String()
	}
	return cidr
}
