// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// wrong returns the error for an invalid field. It does not repeat the field's value.
func wrong(field, format string, values ...any) error {
	return wire.Problemf(http.StatusBadRequest, "%s %s", field, fmt.Sprintf(format, values...))
}

// checkID returns an error for an invalid identifier.
func checkID(field, id string) error {
	if id == "" {
		return wrong(field, "is missing")
	}
	if !driver.IsIdentifier(id) {
		return wrong(field, "must be an identifier: at most %d letters, digits, _, . and -", link.MaxIdentifier)
	}
	return nil
}

// checkIDs returns an error for invalid identifiers of an endpoint.
func (q *endpointRequest) checkIDs() error {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return err
	}
	return checkID("EndpointID", q.EndpointID)
}

// network decodes a network.
func (q *networkRequest) network() (driver.Network, error) {
	given, err := q.Options.generic()
	if err != nil {
		return driver.Network{}, err
	}
	n := driver.Network{ID: q.NetworkID, Options: given, Internal: q.Options.truth(labelInternal)}
	n.Subnets, err = subnets(q.IPv4Data, q.IPv6Data)
	return n, err
}

// subnets decodes the subnets of both families.
func subnets(four, six []ipamData) ([]driver.Subnet, error) {
	var all []driver.Subnet
	for _, of := range []struct {
		field string
		bits  int
		data  []ipamData
	}{{"IPv4Data", 32, four}, {"IPv6Data", 128, six}} {
		for i, d := range of.data {
			s, err := d.subnet(fmt.Sprintf("%s[%d]", of.field, i), of.bits)
			if err != nil {
				return nil, err
			}
			if s.Prefix.IsValid() {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// subnet decodes a subnet, or returns one without a prefix. Docker's IPAM driver null sends 0.0.0.0/0 only.
func (d ipamData) subnet(field string, bits int) (driver.Subnet, error) {
	s := driver.Subnet{Space: d.AddressSpace}
	if d.Pool == "" {
		if d.Gateway == "" && len(d.AuxAddresses) == 0 {
			return s, nil
		}
		return s, wrong(field+".Pool", "is missing")
	}
	prefix, err := netip.ParsePrefix(d.Pool)
	if err != nil || prefix.Addr().BitLen() != bits || prefix.Addr().Is4In6() {
		return s, wrong(field+".Pool", "must be a subnet, such as %s", example(bits).Masked())
	}
	s.Prefix = prefix.Masked()
	if s.Gateway, err = readAddress(field+".Gateway", d.Gateway, bits); err != nil {
		return s, err
	}
	for name, text := range d.AuxAddresses {
		address, err := readAddress(field+".AuxAddresses", text, bits)
		if err != nil {
			return s, err
		}
		if !address.IsValid() {
			continue
		}
		if s.Auxiliary == nil {
			s.Auxiliary = map[string]netip.Addr{}
		}
		s.Auxiliary[name] = address
	}
	return s, nil
}

// example returns an example address for messages.
func example(bits int) netip.Prefix {
	if bits == 32 {
		return netip.MustParsePrefix("192.0.2.1/24")
	}
	return netip.MustParsePrefix("2001:db8::1/64")
}

// nilAddress is the text of a nil net.IP. Swarm's managers send it for "no gateway".
const nilAddress = "<nil>"

// readAddress parses an address with or without a prefix length, or returns the zero Addr for an empty one.
func readAddress(field, text string, bits int) (netip.Addr, error) {
	if text == "" || text == nilAddress {
		return netip.Addr{}, nil
	}
	plain, _, _ := strings.Cut(text, "/")
	address, err := netip.ParseAddr(plain)
	if plain != text {
		_, err = netip.ParsePrefix(text)
	}
	address = address.Unmap()
	if err != nil || address.BitLen() != bits || address.Zone() != "" {
		return netip.Addr{}, wrong(field, "must be an address, such as %s", example(bits))
	}
	return address, nil
}

// addresses decodes the requested addresses of an endpoint, with their prefix lengths.
func (i endpointInterface) addresses() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, of := range []struct {
		field, text string
		bits        int
	}{{"Interface.Address", i.Address, 32}, {"Interface.AddressIPv6", i.AddressIPv6, 128}} {
		if of.text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(of.text)
		if err != nil || prefix.Addr().BitLen() != of.bits || prefix.Addr().Is4In6() {
			return nil, wrong(of.field, "must be an address with the length of its subnet, such as %s", example(of.bits))
		}
		all = append(all, prefix)
	}
	return all, nil
}

// hardware decodes the MAC address of an endpoint from its interface, or from its options, where it is in
// base64.
func (q *endpointRequest) hardware() (network.HardwareAddr, error) {
	var asked network.HardwareAddr
	if text := q.Interface.MacAddress; text != "" {
		if asked.UnmarshalText([]byte(text)) != nil || len(asked) != 6 {
			return nil, wrong("Interface.MacAddress", "must be a MAC address of 6 bytes")
		}
		return asked, nil
	}
	raw := q.Options[labelMAC]
	var encoded []byte
	if json.Unmarshal(raw, &encoded) == nil && len(encoded) == 6 {
		return encoded, nil
	}
	text, ok := q.Options.said(labelMAC)
	if !ok || text == "" {
		return nil, nil
	}
	if asked.UnmarshalText([]byte(text)) != nil || len(asked) != 6 {
		return nil, wrong("Options."+labelMAC, "must be a MAC address of 6 bytes")
	}
	return asked, nil
}

// longestName limits the name of an interface, in bytes (IFNAMSIZ).
const longestName = 15

// interfaceName decodes the name of the interface in the sandbox.
func (q *endpointRequest) interfaceName() (string, error) {
	name, _ := q.Options.said(labelInterface)
	odd := func(c rune) bool { return c <= ' ' || c == '/' || c == ':' || c == 0x7f }
	if len(name) > longestName || name == "." || name == ".." || strings.ContainsFunc(name, odd) {
		return "", cannot(fmt.Sprintf("%s cannot be the name of an interface: that has at most %d bytes, and no space, / or :", labelInterface, longestName))
	}
	return name, nil
}
