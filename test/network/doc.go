// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package network runs several graft-network-provider processes on one real etcd with certificates, as a service with replicas does: they give
// out of one pool at the same time, one is killed, and the others go on with what it has left. Enter at TestReplicas.
package network
