// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package policy compiles and checks NetworkProfiles: pools, clouds, profiles for users, device attributes, quotas and
// denials, with the position of every mistake. A Policy is immutable and safe for concurrent use; a changed document
// creates another one.
//
// It reads no files, calls no cloud and keeps no results of evaluations; errors of evaluations contain the position in
// the document but no values. Package pkg/network/cloud/catalog checks declarations of clouds beyond their form. Start
// reading at Compile.
package policy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Policy is the active configuration.
type Policy struct {
	// Pools and Clouds map names to definitions. Callers must not change them.
	Pools  map[string]*Pool
	Clouds map[string]CloudSpec
	// Hash names the version of all documents together: 12 hexadecimal digits.
	Hash string

	profiles map[string]*Profile
	devices  []*facts
	deny     []*denial
}

// CloudSpec is a declared cloud and its place in the document.
type CloudSpec struct {
	v1alpha1.NetworkCloud
	source.Place
}

// Pool is a pool of addresses with its settings.
type Pool struct {
	ledger.Pool
	// Cloud is the name of the cloud of the pool, or "" for the builtin one.
	Cloud string
	// Drain reports whether the pool may shrink while addresses outside of its new ranges are held.
	Drain bool
	// Nodes are the only nodes with servers for the pool; nil means all. Exclusive means that its author guarantees a
	// single server.
	Nodes     []string
	Exclusive bool
	// Gateways are the gateways of the subnets. MTU is the MTU of the interface; nil keeps it.
	Gateways []netip.Addr
	MTU      *int32
	Routes   []device.Route

	quotas []quota
	// origin is the position of the pool, and exclusiveAt the position of its field exclusive.
	origin, exclusiveAt position
}

// Profile is a profile that users can select.
type Profile struct {
	Name string
	// Pools are the pools to allocate from, in order.
	Pools []*Pool
	// Families lists the wanted families by their length in bits; nil means all families of the pool.
	Families []int
	// Link holds the kernel settings of the profile's Docker networks; nil if the profile has none.
	Link *Link
	// Elsewhere means that the server serves none of the profile's pools; see Policy.For.
	Elsewhere bool

	config *configuration
}

// Pool returns the pool with a name, or nil.
func (p *Policy) Pool(name string) *Pool { return p.Pools[name] }

// PoolOf returns the pool with a subnet, or nil. Pools with the same subnet belong to different nodes, so that the
// result is unique in a Policy of For.
func (p *Policy) PoolOf(subnet netip.Prefix) *Pool {
	for _, pool := range p.Pools {
		if slices.ContainsFunc(pool.Subnets, func(s ledger.Subnet) bool { return s.Prefix == subnet.Masked() }) {
			return pool
		}
	}
	return nil
}

// Profile returns the profile with a name, or nil.
func (p *Policy) Profile(name string) *Profile { return p.profiles[name] }

// ProfileNames returns the names of all profiles, sorted.
func (p *Policy) ProfileNames() []string { return slices.Sorted(maps.Keys(p.profiles)) }

// HasDevices reports whether there are device attributes.
func (p *Policy) HasDevices() bool { return len(p.devices) > 0 }

// HasProfiles reports whether there are profiles for users.
func (p *Policy) HasProfiles() bool { return len(p.profiles) > 0 }

// For returns the policy for the server of a node, with only its pools and their clouds. The server without a node
// serves the pools without nodes. It fails if there are pools but none for this node.
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
			return nil, fmt.Errorf("all pools name nodes, but this server has no node: set --node")
		}
		return nil, fmt.Errorf("no pool is for the node %q%s", node, source.Suggest(node, nodes))
	}
	for name, profile := range p.profiles {
		narrowed := *profile
		narrowed.Pools = slices.DeleteFunc(slices.Clone(profile.Pools), func(pool *Pool) bool { return !pool.serves(node) })
		narrowed.Elsewhere = len(profile.Pools) > 0 && len(narrowed.Pools) == 0
		of.profiles[name] = &narrowed
	}
	return &of, nil
}

// CheckAlone returns findings for pools that other servers with ledgers of their own may serve too, so that two servers
// would allocate the same address. An exclusive pool without nodes is an error if each node is known to have a server
// with these pools, and a warning on a server of a node.
func (p *Policy) CheckAlone(node string, each bool) source.Findings {
	var findings source.Findings
	for _, pool := range p.Pools {
		switch {
		case len(pool.Nodes) == 1 || pool.Exclusive && node == "":
		case !pool.Exclusive:
			findings = append(findings, pool.origin.FindingOf(source.ExclusiveFields, "several servers may serve this pool, but the ledger belongs to "+
				"this server: write nodes with one node, and declare a pool for each node; or write exclusive: true if this is its only "+
				"server; or use ledger.etcd, which servers can share"))
		default:
			why := fmt.Sprintf("this server is for the node %s, and servers of other nodes with this profile would allocate the same addresses", node)
			if each {
				why = "a DaemonSet runs a server with this profile on each node, and two of them would allocate the same address"
			}
			finding := pool.exclusiveAt.FindingOf(source.ExclusiveFields, "%s: write nodes: [%s], and declare a pool for each node; "+
				"or use ledger.etcd, which servers can share; or run one server for all nodes", why, node)
			if !each {
				finding = finding.Warn()
			}
			findings = append(findings, finding)
		}
	}
	findings.Sort()
	return findings
}

// Choose returns the profile that a user has selected by name, if this server serves it. The error is for the user.
func (p *Policy) Choose(name string) (*Profile, error) {
	profile := p.profiles[name]
	switch {
	case profile == nil:
		known := p.ProfileNames()
		return nil, fmt.Errorf("there is no profile %.100q%s; %s", name, source.Suggest(name, known), source.ListKnown(known))
	case profile.Elsewhere:
		return nil, fmt.Errorf("the profile %s has no pool for this node", name)
	}
	return profile, nil
}
