// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package network runs several graft-network-provider processes on one real etcd with certificates, as replicas of one
// service: they allocate from one pool at the same time, one is killed, and the other ones continue with its
// allocations. The specs also pass sockets to the program, as systemd does.
package network
