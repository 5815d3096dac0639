// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package network runs several graft-network-provider processes on one real etcd with certificates, as a service with replicas does: they give
// out of one pool at the same time, one is killed, and the others go on with what it has left. They are passed sockets as
// systemd does it, too. Enter at TestReplicas and at TestSockets.
package network
