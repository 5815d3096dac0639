// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package link manages the kernel links of containers: bridges with veth pairs, macvlan, ipvlan, VLAN sub-interfaces
// and vxlan. All operations are idempotent, have a time limit, and mark their links to find them later. The package
// keeps no state except in the kernel, and uses neither Docker's API nor the ledger. Start reading at Open.
package link

import (
	"errors"
	"net/netip"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// ErrImpossible means that this machine cannot perform the request and a retry does not help. Otherwise errors wrap
// network.ErrUnavailable if a retry may help, and network.ErrTaken if a resource is in use.
var ErrImpossible = errors.New("not possible")

// ErrNoSegment means that the links of a port's network are missing, for instance after a restart of the
// machine. Call EnsureSegment first.
var ErrNoSegment = errors.New("the network has no links on this machine")

// Options configure Open.
type Options struct {
	// Timeout limits one operation, independent of the caller's deadline. The default is 5 seconds.
	Timeout time.Duration
}

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
	VLAN uint16 `json:"vlan,omitempty"`
	// Mode is bridge (default), private, vepa or passthru for macvlan, and l2 (default), l3 or l3s for ipvlan.
	Mode string `json:"mode,omitempty"`
	// VNI is the number of the vxlan, 1 to 16777215. Port is its UDP port, by default 4789.
	VNI  uint32 `json:"vni,omitempty"`
	Port uint16 `json:"port,omitempty"`
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
	VLAN uint16 `json:"vlan,omitempty"`
}
