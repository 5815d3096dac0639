// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package link manages the kernel links of containers: bridges with veth pairs, macvlan, ipvlan, VLAN sub-interfaces
// and vxlan. All operations are idempotent, have a time limit, and mark their links to find them later. The package
// keeps no state except in the kernel, and uses neither Docker's API nor the ledger. Start reading at Open.
package link

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// ErrImpossible means that this machine cannot perform the request and a retry does not help. Other errors wrap
// network.ErrUnavailable if a retry may help, network.ErrTaken if another user has a link, or an error of the kernel.
var ErrImpossible = errors.New("not possible")

// ErrNoSegment means that the links of a port's network are missing, for instance after a restart of the
// machine. Call EnsureSegment first.
var ErrNoSegment = errors.New("the network has no links on this machine")

// Marked is a link of this namespace with our mark.
type Marked struct {
	Name string
	Mark
}

// Kind is the technology that connects the endpoints of a network.
type Kind string

// The kinds of links.
const (
	// Bridge is a bridge on this machine with a veth pair for each endpoint. A parent becomes a port of the
	// bridge.
	Bridge Kind = "bridge"
	// Macvlan creates an interface on the parent for each endpoint, with its own MAC address.
	Macvlan Kind = "macvlan"
	// Ipvlan creates an interface on the parent for each endpoint, with the parent's MAC address.
	Ipvlan Kind = "ipvlan"
	// VLAN creates a VLAN sub-interface of the parent for each endpoint.
	VLAN Kind = "vlan"
	// VXLAN is a bridge on each machine with a tunnel between them.
	VXLAN Kind = "vxlan"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Bridge, Macvlan, Ipvlan, VLAN, VXLAN} }

// Spec describes the links of a network.
type Spec struct {
	Kind Kind `json:"kind"`
	// Parent is the interface of this machine that leads outside, or "" for none (bridge, vxlan).
	Parent string `json:"parent,omitempty"`
	// VLAN selects a sub-interface of the parent, 1 to 4094, which is created if it is missing; 0 means the
	// parent itself. For the kind vlan, 0 means that each endpoint has its own VLAN.
	VLAN int `json:"vlan,omitempty"`
	// Mode is bridge (default), private, vepa or passthru for macvlan, and l2 (default), l3 or l3s for ipvlan.
	Mode string `json:"mode,omitempty"`
	// VNI is the number of the vxlan, 1 to 16777215. Port is its UDP port, by default 4789.
	VNI  int `json:"vni,omitempty"`
	Port int `json:"port,omitempty"`
	// Local is this machine's address in the tunnel. By default the kernel chooses it.
	Local netip.Addr `json:"local,omitzero"`
	// Peers are the configured other ends of the tunnel.
	Peers []netip.Addr `json:"peers,omitempty"`
	// MTU is the MTU of all links, in bytes. 0 means the parent's or the kernel's default; for a vxlan,
	// minus the overhead of the tunnel (50, or 70 over IPv6).
	MTU int `json:"mtu,omitempty"`
}

// Segment is a network's state in the kernel of this machine.
type Segment struct {
	// Network is the identifier of the network, which determines the names of its links.
	Network string `json:"network"`
	Spec
	// Gateways are the addresses of the bridge, with prefix lengths.
	Gateways []netip.Prefix `json:"gateways,omitempty"`
}

// Port is an endpoint's state in the kernel of this machine, until its interface moves into a sandbox.
type Port struct {
	// Endpoint is the identifier of the endpoint, which determines the names of its links.
	Endpoint string `json:"endpoint"`
	// MAC is the interface's address. By default the kernel chooses it. For ipvlan it is empty, because the
	// interface has the parent's address.
	MAC network.HardwareAddr `json:"mac,omitempty"`
	// VLAN is the endpoint's VLAN if the kind is vlan and the network has none.
	VLAN int `json:"vlan,omitempty"`
}

// The limits of the settings in a Spec.
const (
	// MaxVLAN is the largest VLAN of IEEE 802.1Q, which reserves 4095. MaxVNI has 24 bits (RFC 7348, 5).
	MaxVLAN = 4094
	MaxVNI  = 1<<24 - 1
	// MinMTU is the minimum of IPv4 (RFC 791), MaxMTU the maximum packet size.
	MinMTU = 68
	MaxMTU = 65535
	// minMTU6 is the minimum of IPv6 (RFC 8200, 5). Linux disables IPv6 below it.
	minMTU6 = 1280
)

// Passthru is the mode of macvlan in which one endpoint has the parent and its MAC address.
const Passthru = "passthru"

// Modes returns the modes of a kind, the default first, or nil if it has none.
func Modes(kind Kind) []string {
	switch kind {
	case Macvlan:
		return []string{"bridge", "private", "vepa", Passthru}
	case Ipvlan:
		return []string{"l2", "l3", "l3s"}
	default:
		return nil
	}
}

// Problems returns the errors in a Spec by the names of the fields. Its numbers must be within the limits. It does not
// access the kernel.
func (s Spec) Problems() map[string]error {
	problems := map[string]error{}
	add := func(field, format string, values ...any) {
		if problems[field] == nil {
			problems[field] = fmt.Errorf(format, values...)
		}
	}
	if !slices.Contains(Kinds(), s.Kind) {
		add("kind", "unknown kind %q: must be one of %s", s.Kind, list(Kinds()))
	}
	if s.Parent != "" {
		if err := NameProblem(s.Parent); err != nil {
			problems["parent"] = err
		}
	} else if s.Kind == Macvlan || s.Kind == Ipvlan || s.Kind == VLAN {
		add("parent", "%s needs a parent, the interface of the machine that leads outside", s.Kind)
	}
	switch modes := Modes(s.Kind); {
	case s.Mode == "" || slices.Contains(modes, s.Mode):
	case len(modes) == 0:
		add("mode", "links of kind %s have no modes", s.Kind)
	default:
		add("mode", "%q is not a mode of %s; the modes are %s", s.Mode, s.Kind, list(modes))
	}
	if s.VLAN != 0 && s.Parent == "" {
		add("vlan", "a VLAN needs a parent that carries it")
	}
	s.tunnelProblems(add)
	return problems
}

// tunnelProblems adds the errors in the settings of a vxlan.
func (s Spec) tunnelProblems(add func(field, format string, values ...any)) {
	for field, isSet := range map[string]bool{
		"vni": s.VNI != 0, "port": s.Port != 0, "local": s.Local.IsValid(), "peers": len(s.Peers) > 0,
	} {
		if isSet && s.Kind != VXLAN {
			add(field, "only a vxlan has this field")
		}
	}
	if s.Kind == VXLAN && s.VNI == 0 {
		add("vni", "a vxlan needs a VNI, 1 to %d", MaxVNI)
	}
	if s.Local.IsValid() && !isMachine(s.Local) {
		add("local", "%s is not the address of one machine", s.Local)
	}
	for _, peer := range s.Peers {
		family := s.Peers[0]
		if s.Local.IsValid() {
			family = s.Local
		}
		if !isMachine(peer) {
			add("peers", "%s is not the address of one machine", peer)
		} else if peer.Unmap().Is4() != family.Unmap().Is4() {
			add("peers", "%s and %s are of different families: all ends of a tunnel must have the same family", family, peer)
		}
	}
}

// isMachine reports whether an address can be the end of a tunnel.
func isMachine(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && a.Zone() == ""
}

// Problems returns the errors of the Spec, and those of the gateways under "gateways". A network with gateways has a
// bridge.
func (s Segment) Problems() map[string]error {
	problems := s.Spec.Problems()
	for i, gateway := range s.Gateways {
		address := gateway.Addr()
		switch {
		case !gateway.IsValid() || address.IsUnspecified() || address.IsMulticast():
			problems["gateways"] = fmt.Errorf("%s is not a gateway", gateway)
		case address.Is6() && s.MTU != 0 && s.MTU < minMTU6:
			problems["gateways"] = fmt.Errorf("%s is an IPv6 gateway, which needs an MTU of at least %d bytes", gateway, minMTU6)
		}
		if other := slices.IndexFunc(s.Gateways[:i], gateway.Overlaps); other >= 0 {
			problems["gateways"] = fmt.Errorf("the subnets of %s and %s overlap", s.Gateways[other], gateway)
		}
	}
	return problems
}

// Bridged reports whether the network has a bridge on this machine.
func (s Spec) Bridged() bool { return s.Kind == Bridge || s.Kind == VXLAN }

// hasSubinterface reports whether the links are on a VLAN of the parent, which is created if it is missing.
func (s Spec) hasSubinterface() bool { return s.VLAN != 0 && s.Kind != VLAN }

// NameProblem returns the reason why Linux rejects the name of an interface, or nil.
func NameProblem(name string) error {
	switch {
	case name == "" || len(name) > nameLength:
		return fmt.Errorf("%q is not an interface name: 1 to %d bytes", name, nameLength)
	case name == "." || name == "..":
		return fmt.Errorf("%q is not an interface name", name)
	case strings.ContainsAny(name, "/:%") || strings.ContainsFunc(name, unicode.IsSpace) ||
		strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%q is not an interface name: no spaces, and none of / : %%", name)
	default:
		return nil
	}
}

// MACProblem returns an error if a MAC address cannot belong to a single interface.
func MACProblem(mac network.HardwareAddr) error {
	if len(mac) != 6 || mac[0]&1 != 0 || bytes.Equal(mac, make([]byte, 6)) {
		return fmt.Errorf("%s is not a MAC address of an interface", mac)
	}
	return nil
}

func list[T ~string](of []T) string {
	words := make([]string, len(of))
	for i, word := range of {
		words[i] = string(word)
	}
	return strings.Join(words, ", ")
}
