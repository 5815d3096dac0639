// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/gaissmai/bart"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// name checks the name of a pool, a cloud or a node.
func (c *compiler) name(p place, name string) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		c.add(p, source.InvalidName, "%q is no valid name: %s", name, strings.Join(problems, "; "))
	}
}

// pool compiles a pool.
func (c *compiler) pool(name string, pools place, spec v1alpha1.NetworkPool) *Pool {
	p := pools.At(name)
	c.name(pools.Key(name), name)
	pool := &Pool{
		Pool: ledger.Pool{Name: name}, Rest: spec.Rest.Duration, Drain: spec.WhenShrunk == v1alpha1.WhenShrunkDrain, Exclusive: spec.Exclusive,
		origin: pools.Key(name), vouched: p.At("exclusive"),
	}
	c.subnets(pool, p.At("subnets"), spec.Subnets)
	c.mtu(pool, p.At("mtu"), spec.MTU)
	c.hardware(pool, p, spec)
	c.paths(pool, p, spec)
	c.nodes(pool, p, spec)
	c.quotas(pool, p.At("quotas"), spec.Quotas)
	c.behind(pool, p, spec)
	return pool
}

// behind finds the cloud of a pool.
func (c *compiler) behind(pool *Pool, p place, spec v1alpha1.NetworkPool) {
	name := spec.Cloud.Value
	if name == "" || name == v1alpha1.CloudBuiltin {
		if len(spec.Subnets) == 0 {
			c.add(p.At("subnets"), source.MissingField, "is missing: only a pool with a cloud that chooses addresses can be without")
		}
		return
	}
	pool.Cloud = name
	declared, ok := c.policy.Clouds[name]
	if ok && len(spec.Subnets) == 0 && !declared.Chooses() {
		c.add(p.At("subnets"), source.MissingField, "is missing: the cloud %q does not choose addresses", name)
	}
	if !ok {
		known := append(slices.Collect(maps.Keys(c.policy.Clouds)), v1alpha1.CloudBuiltin)
		finding := p.At("cloud").FindingOf(UnknownReference, "there is no cloud %q%s", name, source.Suggest(name, known))
		c.findings = append(c.findings, finding.Instead(spec.Cloud.At, known))
	}
}

// minimumMTU6 is what IPv6 needs, in bytes (RFC 8200, 5).
const minimumMTU6 = 1280

// mtu checks that of the interface.
func (c *compiler) mtu(pool *Pool, p place, mtu int32) {
	if mtu == 0 {
		return
	}
	pool.MTU = &mtu
	six := slices.ContainsFunc(pool.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Addr().Is6() })
	if six && mtu < minimumMTU6 {
		c.add(p, source.WrongValue, "must be at least %d where there are IPv6 addresses", minimumMTU6)
	}
}

// hardware reads VLANs and the prefix of MAC addresses.
func (c *compiler) hardware(pool *Pool, p place, spec v1alpha1.NetworkPool) {
	if !spec.VLANs.At.Absent() {
		var err error
		if pool.FirstVLAN, pool.LastVLAN, err = parseVLANs(spec.VLANs.Value); err != nil {
			c.add(p.At("vlans"), source.WrongValue, "%s", err)
		}
	}
	if spec.MACPrefix.At.Absent() {
		return
	}
	prefix, err := parseMACPrefix(spec.MACPrefix.Value)
	if err != nil {
		c.add(p.At("macPrefix"), source.WrongValue, "%s", err)
		return
	}
	pool.MACPrefix = prefix
	if prefix[0]&2 == 0 {
		c.warn(p.At("macPrefix"), ForeignMAC, "belongs to a maker of hardware: the second digit of a prefix of one's own is 2, 6, a or e, such as 0a:58")
	}
	for _, subnet := range pool.Subnets {
		if size := allocator.NewSpace(subnet.Dynamic).Size(); size > macs(len(prefix)) {
			c.add(p.At("macPrefix"), NoRoom, "leaves room for %d MAC addresses, and %s gives %d addresses", macs(len(prefix)), subnet.Prefix, size)
			return
		}
	}
}

// nodes checks the nodes that serve the pool.
func (c *compiler) nodes(pool *Pool, p place, spec v1alpha1.NetworkPool) {
	for i, node := range spec.Nodes {
		at := p.At("nodes").Item(i)
		if c.name(at, node.Value); slices.Contains(pool.Nodes, node.Value) {
			c.findings = append(c.findings, at.FindingOf(source.DuplicateName, "%q is listed twice", node.Value).Without(node.At))
		}
		pool.Nodes = append(pool.Nodes, node.Value)
	}
	if spec.Exclusive && len(pool.Nodes) > 1 {
		c.add(p.At("exclusive"), source.ExclusiveFields, "one server serves an exclusive pool, and this one is for %d nodes", len(pool.Nodes))
	}
}

// overlaps finds subnets of two pools that have addresses in common. Pools whose nodes are different ones may share a prefix, but no address.
func (c *compiler) overlaps() {
	var seen bart.Lite
	for i, pool := range c.wired {
		for _, subnet := range pool.Subnets {
			if seen.OverlapsPrefix(subnet.Prefix) {
				c.overlapping(pool, subnet, c.wired[:i])
			}
		}
		for _, subnet := range pool.Subnets {
			seen.Insert(subnet.Prefix)
		}
	}
}

// overlapping finds with which of some pools a subnet has addresses in common.
func (c *compiler) overlapping(pool *Pool, subnet ledger.Subnet, others []*Pool) {
	for _, other := range others {
		for _, earlier := range other.Subnets {
			if subnet.Prefix.Overlaps(earlier.Prefix) {
				c.overlap(pool, subnet, other, earlier)
			}
		}
	}
}

// overlap judges two subnets of which one contains the other.
func (c *compiler) overlap(pool *Pool, subnet ledger.Subnet, other *Pool, earlier ledger.Subnet) {
	if pool.Name == other.Name {
		return // which is said already
	}
	where := other.origin.Node.Position()
	if !disjoint(pool.Nodes, other.Nodes) {
		c.add(pool.origin, Overlap, "%s overlaps with %s of the pool %s at %s: only pools that name nodes, and different ones, may share a prefix",
			subnet.Prefix, earlier.Prefix, other.Name, where)
		return
	}
	var common netipx.IPSetBuilder
	common.AddSet(given(subnet))
	common.Intersect(given(earlier))
	if set, err := common.IPSet(); err == nil && len(set.Ranges()) > 0 {
		c.add(pool.origin, Overlap, "gives %s as the pool %s at %s does", set.Ranges()[0], other.Name, where)
	}
}

// disjoint says whether nodes are named in both lists, and none in both.
func disjoint(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(node string) bool { return slices.Contains(b, node) })
}

// given are all addresses of a subnet that anybody can have.
func given(s ledger.Subnet) *netipx.IPSet {
	var all netipx.IPSetBuilder
	all.AddSet(s.Dynamic)
	if s.Static != nil {
		all.AddSet(s.Static)
	}
	set, err := all.IPSet()
	if err != nil {
		return s.Dynamic // sets can be added
	}
	return set
}

// unused warns of clouds and pools that nobody can get at.
func (c *compiler) unused() {
	clouds, pools := map[string]bool{}, map[string]bool{}
	for _, d := range c.documents {
		for _, pool := range d.Pools {
			clouds[pool.Cloud.Value] = true
		}
		for _, choice := range d.Profiles {
			for _, pool := range choice.Pools {
				pools[pool.Value] = true
			}
		}
	}
	for _, d := range c.documents {
		root := place{Node: d.Node}
		for name := range d.Clouds {
			if !clouds[name] {
				c.warn(root.At("clouds").Key(name), source.Unused, "no pool uses this cloud")
			}
		}
		for name, pool := range d.Pools {
			// Where there is a subnet, contracts get at it that name subnets, and Docker that names pools (--ipam-opt pool=).
			if !pools[name] && len(pool.Subnets) == 0 {
				c.warn(root.At("pools").Key(name), source.Unused, "no profile uses this pool, and it has no subnet by which others get at it")
			}
		}
	}
}
