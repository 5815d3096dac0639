// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"

	"github.com/moby/moby/v2/daemon/libnetwork"
	"github.com/moby/moby/v2/daemon/libnetwork/driverapi"
)

// wanted are the addresses that an endpoint asks for.
func wanted(four, six net.IP) libnetwork.EndpointOption {
	return libnetwork.CreateOptionIPAM(four, six, nil)
}

// RegisterNetworkAllocator implements driverapi.Registerer: what a driver can allocate is found by RegisterDriver.
func (d *directory) RegisterNetworkAllocator(string, driverapi.NetworkAllocator) error { return nil }
