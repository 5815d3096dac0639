// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package device defines attributes and settings of network devices in the terms of DRANET's contract, which profiles
// use as well. It validates them and merges configurations. It uses neither HTTP nor CEL. Start reading at Config.
package device

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Device has the identifiers of a network interface that the caller sent.
type Device struct {
	// Name is the device's name in Kubernetes, such as pci-0000-27-00-2, or the interface's in Linux. Callers differ. It may be empty.
	Name string `json:"name,omitempty"`
	// PCI is the address of the device on its bus, such as 0000:27:00.2.
	PCI string `json:"pci_address,omitempty"`
	// MAC is the hardware address.
	MAC string `json:"mac_address,omitempty"`
}

// Config is the configuration of an interface: NetworkConfig of pkg/apis/types.go of DRANET, field by field.
type Config struct {
	// Profile names a profile that a user can choose, such as acme.com/overlay.
	Profile string `json:"profile,omitempty"`
	// Interface is the configuration of the interface itself.
	Interface Interface `json:"interface"`
	// Routes are routes through the interface.
	Routes []Route `json:"routes,omitempty"`
	// Rules select the routing table for packets.
	Rules []Rule `json:"rules,omitempty"`
	// Neighbors need no discovery.
	Neighbors []Neighbor `json:"neighbors,omitempty"`
	// Ethtool are switches of the device.
	Ethtool *Ethtool `json:"ethtool,omitempty"`
}

// Interface is the configuration of the interface itself. Nil settings are left unchanged.
type Interface struct {
	// Name is the name of the interface in the pod.
	Name string `json:"name,omitempty"`
	// Addresses are CIDRs: the address with the length of its subnet.
	Addresses []string `json:"addresses,omitempty"`
	// DHCP requests addresses in the network; it excludes Addresses.
	DHCP *bool `json:"dhcp,omitempty"`
	// MTU is the size of the largest packet in bytes.
	MTU *int32 `json:"mtu,omitempty"`
	// HardwareAddr is the MAC address.
	HardwareAddr *string `json:"hardwareAddr,omitempty"`
	// GSOMaxSize and GROMaxSize limit, in bytes, the packets that offloading segments and reassembles; those with IPv4
	// apply to IPv4 packets.
	GSOMaxSize     *int32 `json:"gsoMaxSize,omitempty"`
	GROMaxSize     *int32 `json:"groMaxSize,omitempty"`
	GSOIPv4MaxSize *int32 `json:"gsoIPv4MaxSize,omitempty"`
	GROIPv4MaxSize *int32 `json:"groIPv4MaxSize,omitempty"`
	// DisableEBPFPrograms takes eBPF programs off the interface.
	DisableEBPFPrograms *bool `json:"disableEbpfPrograms,omitempty"`
	// Forwarding enables forwarding of packets for other hosts.
	Forwarding *bool `json:"forwarding,omitempty"`
	// ARPIgnore is the kernel's arp_ignore, 0 to 8.
	ARPIgnore *int32 `json:"arpIgnore,omitempty"`
	// ARPAnnounce is the kernel's arp_announce, 0 to 2.
	ARPAnnounce *int32 `json:"arpAnnounce,omitempty"`
	// VRF is the routing domain that the interface is made a member of.
	VRF *VRF `json:"vrf,omitempty"`
}

// VRF is the routing domain that the interface is made a member of.
type VRF struct {
	// Name is the name of the VRF's interface.
	Name string `json:"name"`
	// Table is its routing table.
	Table *int `json:"table,omitempty"`
}

// Route is a route through the interface.
type Route struct {
	// Destination is a prefix, such as 0.0.0.0/0.
	Destination string `json:"destination,omitempty"`
	// Gateway is the address of the router.
	Gateway string `json:"gateway,omitempty"`
	// Source is the preferred source address.
	Source string `json:"source,omitempty"`
	// Scope is the kernel's scope: 0 the universe, 253 the link.
	Scope uint8 `json:"scope,omitempty"`
	// Table is the routing table; the main one when absent.
	Table int `json:"table,omitempty"`
}

// Rule selects a routing table for packets.
type Rule struct {
	// Priority orders rules; the lowest is applied first.
	Priority int `json:"priority,omitempty"`
	// Source is the prefix of the packets' source addresses.
	Source string `json:"source,omitempty"`
	// Destination is the prefix of the packets' destinations.
	Destination string `json:"destination,omitempty"`
	// Table is the routing table that the rule uses.
	Table int `json:"table,omitempty"`
}

// Neighbor is a neighbour that needs no discovery.
type Neighbor struct {
	// Destination is the address of the neighbour.
	Destination string `json:"destination,omitempty"`
	// HardwareAddr is its MAC address.
	HardwareAddr string `json:"hardwareAddr,omitempty"`
}

// Ethtool are switches of the device.
type Ethtool struct {
	// Features are offloading features by name.
	Features map[string]bool `json:"features,omitempty"`
	// PrivateFlags are the driver's own switches by name.
	PrivateFlags map[string]bool `json:"privateFlags,omitempty"`
}

// Attribute is a property of a device with exactly one field set (resource.k8s.io/v1, DeviceAttribute).
type Attribute struct {
	Int     *int64  `json:"int,omitempty"`
	Bool    *bool   `json:"bool,omitempty"`
	String  *string `json:"string,omitempty"`
	Version *string `json:"version,omitempty"`
}

// ParsePrefix reads a CIDR of a configuration: an address with the length of its subnet, or a network. An IPv4 address
// must be written as one. It fails for any other form.
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

// ParseAddr reads an address without a length and without a zone. It fails for any other form.
func ParseAddr(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return address, errors.New(quote(text) + " is not an IP address")
	case address.Zone() != "":
		return address, errors.New(quote(text) + " has a zone")
	case address.Is4In6():
		return address, errors.New(quote(text) + " is an IPv4 address in IPv6 notation: write " + address.Unmap().String())
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

// Problem is a mistake in one field.
type Problem struct {
	// Field is its path, such as routes[1].gateway.
	Field   string
	Message string
}

// Problems lists all mistakes of a document as one error.
type Problems []Problem

// Error returns all problems on one line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Field + ": " + problem.Message
	}
	return strings.Join(lines, "; ")
}

// err returns nil if there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(field, format string, values ...any) {
	*p = append(*p, Problem{field, fmt.Sprintf(format, values...)})
}

// longest limits the part of a value that a message contains, in bytes.
const longest = 64

// quote returns a value in quotes, shortened if necessary.
func quote(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
