// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"net/netip"
	"strings"
	"time"
)

// state is the progress of a network or an endpoint.
type state string

// The states. A row is written before the kernel is changed.
const (
	// making: being created and not answered yet. A crash in this state is rolled back.
	making state = "making"
	// ready: complete.
	ready state = "ready"
	// removing: being removed. After a crash, the removal continues.
	removing state = "removing"
)

// networkRow is a stored network.
type networkRow struct {
	Network
	State state `json:"state"`
	// Since is the begin of the state.
	Since time.Time `json:"since"`
	// Gateways are the addresses of the bridge, with prefix lengths.
	Gateways []netip.Prefix `json:"gateways,omitempty"`
}

// endpointRow is a stored endpoint.
type endpointRow struct {
	Endpoint
	State state `json:"state"`
	// Since is the begin of the state, or the time of joining or leaving the sandbox.
	Since time.Time `json:"since"`
	// Boot is the value of Options.Boot when its links were created.
	Boot string `json:"boot,omitempty"`
	// Trunk is the parent on which the endpoint has its own VLAN, or "".
	Trunk string `json:"trunk,omitempty"`
	// Asked is the original request.
	Asked asked `json:"asked"`
}

// key returns the row's key. Identifiers contain no slash.
func (r endpointRow) key() string { return endpointKey(r.Network, r.ID) }

func endpointKey(network, id string) string { return network + "/" + id }

// ofNetwork reports whether a key belongs to an endpoint of a network.
func ofNetwork(key, network string) bool { return strings.HasPrefix(key, network+"/") }

// nodeRow is a machine that Docker announced, stored by its address.
type nodeRow struct {
	// Self is true for this machine.
	Self bool `json:"self,omitempty"`
}
