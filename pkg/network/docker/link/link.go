// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package link makes the kernel's links of containers: bridges with veth pairs, macvlan, ipvlan, VLAN sub-interfaces and vxlan. All that it does is
// idempotent, has a deadline, and bears a mark by which it is found again. It keeps nothing but what the kernel does, and knows neither wires nor
// the ledger. Enter at Open.
package link

import (
	"errors"
	"net/netip"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// ErrImpossible says that what is asked for cannot be had on this machine as it is, however often it is asked for. What may be had later is
// network.ErrUnavailable, and what somebody else has network.ErrTaken.
var ErrImpossible = errors.New("not possible")

// ErrNoSegment says that the segment of a port is not there: EnsureSegment makes it. It may have gone with a restart of the machine.
var ErrNoSegment = errors.New("the network has no links on this machine")

// Options say how Open talks to the kernel.
type Options struct {
	// Timeout is what one operation may take, whatever deadline its caller has; 0: 5 seconds.
	Timeout time.Duration
}

// Marked is a link of this namespace that bears our mark.
type Marked struct {
	Name string
	// Network and Endpoint are those of the mark. A network's own links have no endpoint. A sub-interface of a parent is listed once for each network
	// that uses it, and with neither where none does any more.
	Network  string
	Endpoint string
	Index    int
}

// Kind is how the endpoints of a network come to each other.
type Kind string

// The kinds of links.
const (
	// Bridge is a bridge of this machine, to which each endpoint has a veth pair. With a parent, that is a port of the bridge too.
	Bridge Kind = "bridge"
	// Macvlan gives each endpoint an interface of its own MAC address on the parent.
	Macvlan Kind = "macvlan"
	// Ipvlan gives each endpoint an interface on the parent that has the parent's MAC address.
	Ipvlan Kind = "ipvlan"
	// VLAN gives each endpoint a VLAN sub-interface of the parent.
	VLAN Kind = "vlan"
	// VXLAN is a bridge on each machine, and a tunnel among them.
	VXLAN Kind = "vxlan"
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Bridge, Macvlan, Ipvlan, VLAN, VXLAN} }

// Spec is what is said of the links of a network.
type Spec struct {
	Kind Kind `json:"kind"`
	// Parent is the interface of this machine that leads outside; empty: there is none (bridge, vxlan).
	Parent string `json:"parent,omitempty"`
	// VLAN is the sub-interface of the parent that is used in place of it, 1 to 4094, made where there is none; 0: the parent itself. With the kind
	// vlan, 0 says that each endpoint has its own.
	VLAN uint16 `json:"vlan,omitempty"`
	// Mode is bridge, private, vepa or passthru of macvlan, and l2, l3 or l3s of ipvlan; empty: bridge, and l2.
	Mode string `json:"mode,omitempty"`
	// VNI is the number of the vxlan, 1 to 16777215, and Port its UDP port; 0: 4789.
	VNI  uint32 `json:"vni,omitempty"`
	Port uint16 `json:"port,omitempty"`
	// Local is this machine's address in the tunnel; not valid: the kernel chooses.
	Local netip.Addr `json:"local,omitzero"`
	// Peers are the other ends of the tunnel that are known beforehand.
	Peers []netip.Addr `json:"peers,omitempty"`
	// MTU is that of all links, in bytes; 0: the parent's or the kernel's, for a vxlan less what a tunnel adds: 50, and 70 over IPv6.
	MTU int `json:"mtu,omitempty"`
}

// Segment is a network as it is in the kernel of this machine.
type Segment struct {
	// Network is the identifier of the network, out of which the names of its links are made.
	Network string `json:"network"`
	Spec
	// Gateways are addresses that the bridge has, with the lengths of their subnets.
	Gateways []netip.Prefix `json:"gateways,omitempty"`
}

// Port is an endpoint as it is in the kernel of this machine, until its interface moves into a sandbox.
type Port struct {
	// Endpoint is the identifier of the endpoint, out of which the names of its links are made.
	Endpoint string `json:"endpoint"`
	// MAC is the address of the interface; empty: a random one; with ipvlan always empty, since that has the parent's.
	MAC network.HardwareAddr `json:"mac,omitempty"`
	// VLAN is that of the endpoint, where the kind is vlan and the network has none.
	VLAN uint16 `json:"vlan,omitempty"`
}
