// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Policy is what is in force.
type Policy struct {
	// Pools and Clouds are by their names. Who has a Policy must not change them.
	Pools  map[string]*Pool
	Clouds map[string]CloudSpec
	// Hash names the version of all documents together: 12 hexadecimal digits.
	Hash string

	profiles map[string]*Profile
	subnets  map[netip.Prefix]*Pool
	devices  []*facts
	deny     []*denial
}

// CloudSpec is a cloud as it is declared, and where.
type CloudSpec struct {
	v1alpha1.NetworkCloud
	// Node is the declaration, and Path its field in the document.
	Node source.Node
	Path string
}

// Pool is a pool of addresses, and what goes with them.
type Pool struct {
	ledger.Pool
	// Rest is how long what was released is given to nobody.
	Rest time.Duration
	// Cloud is the name of the cloud behind the pool; empty: the builtin one.
	Cloud string
	// Drain says that the pool may shrink while addresses that would be outside of it are held.
	Drain bool
	// Nodes are the only nodes whose servers serve it; nil: all. Exclusive says that its author vouches for one server.
	Nodes     []string
	Exclusive bool
	// Gateways are those of the subnets, MTU that of the interface; nil: it is left as it is.
	Gateways  []netip.Addr
	MTU       *int32
	Routes    []device.Route
	Rules     []device.Rule
	Neighbors []device.Neighbor

	quotas []quota
	// origin is where the pool stands, vouched where it says that it is exclusive.
	origin, vouched place
}

// Profile is what a user can choose.
type Profile struct {
	Name string
	// Pools are those that addresses come from, in order.
	Pools []*Pool
	// Families are the families that are wanted, by their length in bits; nil: all that the pool has.
	Families []int
	// Link is what Docker's networks of the profile are in the kernel; nil: the profile does not say.
	Link *Link
	// Elsewhere says that the profile has pools, and the server that the policy is for serves none of them; see Policy.For.
	Elsewhere bool

	config *configuration
}

// Pool is the one with a name; nil: there is none.
func (p *Policy) Pool(name string) *Pool { return p.Pools[name] }

// PoolOf is the pool that has a subnet; nil: there is none. Pools that have subnets in common are of different nodes, so that it is exact in a
// Policy that For made.
func (p *Policy) PoolOf(subnet netip.Prefix) *Pool { return p.subnets[subnet.Masked()] }

// Profile is the one with a name; nil: there is none.
func (p *Policy) Profile(name string) *Profile { return p.profiles[name] }

// ProfileNames are the names of all profiles, sorted.
func (p *Policy) ProfileNames() []string { return slices.Sorted(maps.Keys(p.profiles)) }

// HasDevices says whether there are facts of devices.
func (p *Policy) HasDevices() bool { return len(p.devices) > 0 }

// HasProfiles says whether there is something that users can choose.
func (p *Policy) HasProfiles() bool { return len(p.profiles) > 0 }

// index finds pools by their subnets. Of two with the same, the first by name counts.
func index(pools map[string]*Pool) map[netip.Prefix]*Pool {
	subnets := map[netip.Prefix]*Pool{}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		for _, subnet := range pools[name].Subnets {
			if subnets[subnet.Prefix] == nil {
				subnets[subnet.Prefix] = pools[name]
			}
		}
	}
	return subnets
}
