// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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
