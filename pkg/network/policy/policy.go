// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Policy is what is active.
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

// For is the policy of the server of a node: of the pools only those that it serves, of the clouds only those behind them. The server without a
// node serves the pools that name none. The error says that there are pools, and none for this node.
func (p *Policy) For(node string) (*Policy, error) {
	of := *p
	of.Pools, of.Clouds, of.profiles = map[string]*Pool{}, map[string]CloudSpec{}, map[string]*Profile{}
	var nodes []string
	for name, pool := range p.Pools {
		nodes = append(nodes, pool.Nodes...)
		if !pool.serves(node) {
			continue
		}
		of.Pools[name] = pool
		if pool.Cloud != "" {
			of.Clouds[pool.Cloud] = p.Clouds[pool.Cloud]
		}
	}
	if len(of.Pools) == 0 && len(p.Pools) > 0 {
		if node == "" {
			return nil, fmt.Errorf("all pools name nodes, and this server has none")
		}
		return nil, fmt.Errorf("no pool is for the node %q%s", node, source.Suggest(node, nodes))
	}
	of.subnets = index(of.Pools)
	for name, profile := range p.profiles {
		narrowed := *profile
		narrowed.Pools = slices.DeleteFunc(slices.Clone(profile.Pools), func(pool *Pool) bool { return !pool.serves(node) })
		narrowed.Elsewhere = len(profile.Pools) > 0 && len(narrowed.Pools) == 0
		of.profiles[name] = &narrowed
	}
	return &of, nil
}

// serves says whether the server of a node serves the pool.
func (p *Pool) serves(node string) bool { return len(p.Nodes) == 0 || slices.Contains(p.Nodes, node) }

// Shared are the names of the pools that more than one server may serve: those that neither name one node alone nor are said to be exclusive. A
// server whose ledger is its own must not serve them.
func (p *Policy) Shared() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Pools)), func(name string) bool {
		return p.Pools[name].Exclusive || len(p.Pools[name].Nodes) == 1
	})
}

// Vouched finds the pools that are said to be exclusive and name no node: nothing but that word says that the servers of other nodes have other
// pools than the server of this one. They are warnings; errors where each node is known to have a server with these pools.
func (p *Policy) Vouched(node string, each bool) source.Findings {
	var findings source.Findings
	for _, pool := range p.Pools {
		if !pool.Exclusive || len(pool.Nodes) > 0 {
			continue
		}
		why := fmt.Sprintf("this server is that of the node %s; the server of another node that reads this profile would give the same addresses", node)
		if each {
			why = "each node has a server with this profile, as a DaemonSet makes them, so that two of them would give the same address"
		}
		finding := pool.vouched.FindingOf(source.ExclusiveFields, "%s: write nodes: [%s], and give every node a pool of its own; "+
			"or use ledger.etcd, which servers can share; or let one server be for all nodes", why, node)
		if !each {
			finding = finding.Warn()
		}
		findings = append(findings, finding)
	}
	findings.Sort()
	return findings
}

// Choose is the profile that a user has chosen by its name, of which something is served by the server that the policy is for. The error is for people.
func (p *Policy) Choose(name string) (*Profile, error) {
	profile := p.profiles[name]
	switch {
	case profile == nil:
		known := p.ProfileNames()
		return nil, fmt.Errorf("there is no profile %.100q%s; %s", name, source.Suggest(name, known), source.ThereAre(known))
	case profile.Elsewhere:
		return nil, fmt.Errorf("the profile %s has no pool that is served on this node", name)
	}
	return profile, nil
}
