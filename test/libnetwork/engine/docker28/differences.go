// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"

	"github.com/docker/docker/libnetwork"
)

// wanted are the addresses that an endpoint asks for.
func wanted(four, six net.IP) libnetwork.EndpointOption {
	return libnetwork.CreateOptionIpam(four, six, nil, nil)
}
