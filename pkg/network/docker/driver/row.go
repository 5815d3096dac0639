// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"net/netip"
	"strings"
	"time"
)

// state says how far a network or an endpoint has come.
type state string

// The states. A row is written before the kernel is changed.
const (
	// making: whoever asked for it has no answer yet; after a crash it is undone.
	making state = "making"
	// ready: it is there.
	ready state = "ready"
	// removing: it is being removed; after a crash that goes on.
	removing state = "removing"
)

// networkRow is a network as it is kept.
type networkRow struct {
	Network
	State state `json:"state"`
	// Since is when the state began.
	Since time.Time `json:"since"`
	// Gateways are addresses that the bridge has, with the lengths of their subnets.
	Gateways []netip.Prefix `json:"gateways,omitempty"`
}

// endpointRow is an endpoint as it is kept.
type endpointRow struct {
	Endpoint
	State state `json:"state"`
	// Since is when the state began, or when the sandbox was joined or left.
	Since time.Time `json:"since"`
	// Boot is the one in which its links were made.
	Boot string `json:"boot,omitempty"`
	// Trunk is the parent on which the endpoint has a VLAN of its own; empty: none.
	Trunk string `json:"trunk,omitempty"`
	// Asked is what was asked for.
	Asked asked `json:"asked"`
}

// key is that of the row: identifiers have no slash.
func (r endpointRow) key() string { return endpointKey(r.Network, r.ID) }

func endpointKey(network, id string) string { return network + "/" + id }

// ofNetwork says whether a key is that of an endpoint of a network.
func ofNetwork(key, network string) bool { return strings.HasPrefix(key, network+"/") }

// nodeRow is a machine that Docker has told of, under its address.
type nodeRow struct {
	// Self says that it is this one.
	Self bool `json:"self,omitempty"`
}
