// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// parsePrefix parses a prefix without host bits.
func parsePrefix(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is not a prefix, such as 10.64.0.0/16", text)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q is an IPv4 prefix in IPv6 notation: write it in IPv4 notation", text)
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%q has bits set after the prefix length: write %s", text, prefix.Masked())
	}
	return prefix, nil
}

// parseRange reads an address, a prefix, or the first and the last address of a range.
func parseRange(text string) (netipx.IPRange, error) {
	if strings.Contains(text, "/") {
		prefix, err := parsePrefix(text)
		if err != nil {
			return netipx.IPRange{}, err
		}
		return netipx.RangeOfPrefix(prefix), nil
	}
	one, other, found := strings.Cut(text, "-")
	first, err := device.ParseAddr(one)
	if err != nil {
		return netipx.IPRange{}, err
	}
	if !found {
		return netipx.IPRangeFrom(first, first), nil
	}
	last, err := device.ParseAddr(other)
	switch {
	case err != nil:
		return netipx.IPRange{}, err
	case first.BitLen() != last.BitLen():
		return netipx.IPRange{}, fmt.Errorf("%q begins and ends in different families", text)
	case last.Less(first):
		return netipx.IPRange{}, fmt.Errorf("%q ends before it begins", text)
	}
	return netipx.IPRangeFrom(first, last), nil
}

// maximumMACPrefix is the length of the longest MAC prefix in bytes: at least one byte must differ between addresses.
const maximumMACPrefix = 5

// parseMACPrefix reads one to five bytes in hexadecimal with colons.
func parseMACPrefix(text string) ([]byte, error) {
	count := strings.Count(text, ":") + 1
	if count > maximumMACPrefix {
		return nil, fmt.Errorf("%q is longer than %d bytes", text, maximumMACPrefix)
	}
	whole, err := net.ParseMAC(text + strings.Repeat(":00", 6-count))
	if err != nil {
		return nil, fmt.Errorf("%q is not the beginning of a MAC address, such as 0a:58", text)
	}
	if whole[0]&1 != 0 {
		return nil, errors.New("the first byte is odd, which marks multicast addresses: use an even first byte")
	}
	return whole[:count:count], nil
}

// macs returns the number of MAC addresses with a prefix of this many bytes.
func macs(length int) uint64 { return uint64(math.Pow(256, float64(6-length))) }
