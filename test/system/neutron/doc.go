// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package neutron tests the cloud for OpenStack against Debian's neutron-server, with ML2 and the trunk plugin, and
// Debian's Keystone. Both listen on loopback and store their data in a temporary folder. There are no agents, so
// sub-ports are recorded but carry no packets.
package neutron
