// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"

// claim names a lock. Identifiers in keys contain no slash. The order of locks is: all networks, a network, an
// endpoint in it.
type claim = ledger.KeyLock[string]

var allNetworks = claim{Key: "networks"}

func networkLock(id string) claim { return claim{Key: "network/" + id} }

func sharedNetworkLock(id string) claim { return claim{Key: "network/" + id, Shared: true} }

func endpointLock(key string) claim { return claim{Key: "endpoint/" + key} }

// networkLocks claims all networks and one of them.
func networkLocks(id string) []claim { return []claim{allNetworks, networkLock(id)} }

// endpointLocks claims an endpoint, and shares its network.
func endpointLocks(network, id string) []claim {
	return []claim{sharedNetworkLock(network), endpointLock(endpointKey(network, id))}
}
