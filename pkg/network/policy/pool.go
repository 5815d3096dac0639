// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// name checks the name of a pool, a cloud or a node.
func (c *compiler) name(p position, name string) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		c.add(p, source.InvalidName, "%q is not a valid name: %s", name, strings.Join(problems, "; "))
	}
}

// pool compiles a pool.
func (c *compiler) pool(name string, pools position, spec v1alpha1.NetworkPool) *Pool {
	p := pools.At(name)
	c.name(pools.Key(name), name)
	pool := &Pool{
		Pool: ledger.Pool{Name: name, Quarantine: spec.Quarantine.Duration}, Drain: spec.WhenShrunk == v1alpha1.WhenShrunkDrain, Exclusive: spec.Exclusive,
		origin: pools.Key(name), exclusiveAt: p.At("exclusive"),
	}
	c.subnets(pool, p.At("subnets"), spec.Subnets)
	if spec.MTU != 0 {
		pool.MTU = &spec.MTU
		if spec.MTU < minimumMTU6 && len(pool.Subnets) > 0 && pool.hasFamily(128) {
			c.add(p.At("mtu"), source.WrongValue, "must be at least %d where there are IPv6 addresses", minimumMTU6)
		}
	}
	c.hardware(pool, p, spec)
	c.paths(pool, p, spec)
	c.nodes(pool, p, spec)
	c.quotas(pool, p.At("quotas"), spec.Quotas)
	c.cloudOf(pool, p, spec)
	return pool
}

// cloudOf finds the cloud of a pool.
func (c *compiler) cloudOf(pool *Pool, p position, spec v1alpha1.NetworkPool) {
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
		c.unknown(p.At("cloud"), "cloud", name, spec.Cloud.At, append(slices.Collect(maps.Keys(c.policy.Clouds)), v1alpha1.CloudBuiltin))
	}
}

// minimumMTU6 is the minimum for IPv6, in bytes (RFC 8200, 5).
const minimumMTU6 = 1280

// hardware reads VLANs and the prefix of MAC addresses.
func (c *compiler) hardware(pool *Pool, p position, spec v1alpha1.NetworkPool) {
	if !spec.VLANs.At.Absent() {
		var err error
		if pool.FirstVLAN, pool.LastVLAN, err = allocator.ParseVLANs(spec.VLANs.Value); err != nil {
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
		c.warn(p.At("macPrefix"), ForeignMAC, "belongs to a hardware vendor; use a prefix with the second digit 2, 6, a or e, such as 0a:58")
	}
	for _, subnet := range pool.Subnets {
		if size := allocator.NewSpace(subnet.Dynamic).Size(); size > macs(len(prefix)) {
			c.add(p.At("macPrefix"), NoRoom, "has %d MAC addresses for the %d addresses of %s; shorten it", macs(len(prefix)), size, subnet.Prefix)
			return
		}
	}
}

// nodes checks the nodes that serve the pool.
func (c *compiler) nodes(pool *Pool, p position, spec v1alpha1.NetworkPool) {
	for i, node := range spec.Nodes {
		at := p.At("nodes").Item(i)
		if c.name(at, node.Value); slices.Contains(pool.Nodes, node.Value) {
			c.twice(at, node)
		}
		pool.Nodes = append(pool.Nodes, node.Value)
	}
	if spec.Exclusive && len(pool.Nodes) > 1 {
		c.add(p.At("exclusive"), source.ExclusiveFields, "only one server may serve an exclusive pool, but nodes lists %d", len(pool.Nodes))
	}
}

// overlaps reports subnets of two pools that share addresses. Pools for different nodes may share a prefix, but no
// addresses.
func (c *compiler) overlaps() {
	for i, pool := range c.withSubnets {
		for _, other := range c.withSubnets[:i] {
			if pool.Name == other.Name {
				continue // another finding reports it
			}
			for _, subnet := range pool.Subnets {
				for _, earlier := range other.Subnets {
					if subnet.Prefix.Overlaps(earlier.Prefix) {
						c.overlap(pool, subnet, other, earlier)
					}
				}
			}
		}
	}
}

// overlap adds a finding for a subnet that overlaps an earlier one. Pools for different nodes may share a prefix, but no
// address.
func (c *compiler) overlap(pool *Pool, subnet ledger.Subnet, other *Pool, earlier ledger.Subnet) {
	where := other.origin.Node.Position()
	if !disjoint(pool.Nodes, other.Nodes) {
		c.add(pool.origin, Overlap, "%s overlaps with %s of the pool %s at %s: only pools that name nodes, and different ones, may share a prefix",
			subnet.Prefix, earlier.Prefix, other.Name, where)
		return
	}
	usable := func(s ledger.Subnet) *netipx.IPSet {
		var all netipx.IPSetBuilder
		all.AddSet(s.Dynamic)
		all.AddSet(s.Static)
		set, _ := all.IPSet() // sets can be added
		return set
	}
	var common netipx.IPSetBuilder
	common.AddSet(usable(subnet))
	common.Intersect(usable(earlier))
	if set, err := common.IPSet(); err == nil && len(set.Ranges()) > 0 {
		c.add(pool.origin, Overlap, "overlaps the pool %s at %s: both allocate %s", other.Name, where, set.Ranges()[0])
	}
}

// disjoint reports whether both lists contain nodes, and have none in common.
func disjoint(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(node string) bool { return slices.Contains(b, node) })
}

// unused warns of clouds and pools that no request can use.
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
		root := position{Node: d.Node}
		for name := range d.Clouds {
			if !clouds[name] {
				c.warn(root.At("clouds").Key(name), source.Unused, "no pool uses this cloud")
			}
		}
		for name, pool := range d.Pools {
			// Contracts that name subnets can use its subnet, and Docker can name the pool (--ipam-opt pool=).
			if !pools[name] && len(pool.Subnets) == 0 {
				c.warn(root.At("pools").Key(name), source.Unused, "no profile uses this pool, and it has no subnet through which other callers can use it")
			}
		}
	}
}

// quotas compiles the quotas of a pool.
func (c *compiler) quotas(pool *Pool, p position, specs []v1alpha1.NetworkQuota) {
	seen := map[string]position{}
	for i, spec := range specs {
		at := p.Item(i)
		if at.At("limit").Absent() {
			c.add(at.At("limit"), source.MissingField, "is missing")
		}
		if !c.needed(at, "by", spec.By) {
			continue
		}
		if earlier, double := seen[spec.By.Value+spec.When.Value]; double {
			c.add(at.At("by"), source.DuplicateName, "the quota at %s has the same key", earlier.Node.Position())
		}
		seen[spec.By.Value+spec.When.Value] = at
		pool.quotas = append(pool.quotas, quota{
			by:   c.text(c.request, spec.By, at.At("by")),
			when: c.condition(c.request, spec.When, at.At("when"), "the quota", ""), limit: spec.Limit, at: spec.By.At,
		})
	}
}

// needed reports whether a text is set, and adds a finding if it is missing.
func (c *compiler) needed(p position, field string, t source.Text) bool {
	if t.Value == "" {
		c.add(p.At(field), source.MissingField, "is missing")
	}
	return t.Value != ""
}

// paths compiles the routes of a pool. They must be valid for a device, and match the addresses of the pool.
func (c *compiler) paths(pool *Pool, p position, spec v1alpha1.NetworkPool) {
	for _, r := range spec.Routes {
		pool.Routes = append(pool.Routes, device.Route{
			Destination: r.Destination.Value, Gateway: r.Gateway.Value, Source: r.Source.Value, Scope: uint8(r.Scope), Table: r.Table,
		})
	}
	whole := device.Config{Routes: pool.Routes}
	before := len(c.findings)
	c.problems(p, whole.Validate())
	for i, route := range pool.Routes {
		if at := p.At("routes").Item(i); !c.hasFinding(before, at) {
			c.route(pool, at, route)
		}
	}
}

// route compares a route with the addresses of the pool.
func (c *compiler) route(pool *Pool, p position, route device.Route) {
	destination, err := device.ParsePrefix(route.Destination)
	if err != nil {
		return // another finding reports it
	}
	if bits := destination.Addr().BitLen(); !pool.hasFamily(bits) {
		c.add(p.At("destination"), source.WrongValue, "the pool has no %s addresses", familyName(bits))
		return
	}
	gateway, err := device.ParseAddr(route.Gateway)
	if err == nil && !pool.reaches(gateway) {
		c.add(p.At("gateway"), Outside, "%s cannot be reached: it is in no subnet of the pool, and no other route leads to it over the link", gateway)
	}
}

// problems adds the problems of a configuration, except those of computed parts.
func (c *compiler) problems(p position, err error) {
	var all device.Problems
	errors.As(err, &all)
	for _, problem := range all {
		if at := p.Walk(problem.Field); !computed(at) {
			c.problem(at, problem.Message)
		}
	}
}

// problem adds the finding of a wrong or missing value.
func (c *compiler) problem(p position, message string) {
	rule := source.WrongValue
	if p.Missing {
		rule = source.MissingField
	}
	c.add(p, rule, "%s", message)
}

// subnets compiles the subnets of a pool, at most one of each family.
func (c *compiler) subnets(pool *Pool, p position, specs []v1alpha1.NetworkSubnet) {
	families := map[int]position{}
	for i, spec := range specs {
		at := p.Item(i)
		if spec.Prefix.Value == "" {
			c.add(at.At("prefix"), source.MissingField, "is missing")
			continue
		}
		prefix, ok := c.prefix(at.At("prefix"), spec.Prefix)
		if !ok {
			continue
		}
		if earlier, double := families[prefix.Addr().BitLen()]; double {
			c.add(at.At("prefix"), source.ExclusiveFields, "a pool has at most one subnet of each family, and the one at %s is %s too",
				earlier.Node.Position(), familyName(prefix.Addr().BitLen()))
			continue
		}
		families[prefix.Addr().BitLen()] = at
		pool.Subnets = append(pool.Subnets, c.subnet(pool, at, prefix, spec))
	}
	if len(pool.Subnets) > 0 {
		c.withSubnets = append(c.withSubnets, pool)
	}
}

// prefix reads the prefix of a subnet, which must have room for hosts.
func (c *compiler) prefix(p position, t source.Text) (netip.Prefix, bool) {
	prefix, err := parsePrefix(t.Value)
	switch {
	case err != nil:
		finding := p.FindingOf(source.WrongValue, "%s", err)
		if written, err := netip.ParsePrefix(t.Value); err == nil && !written.Addr().Is4In6() {
			finding = finding.Write(t.At, written.Masked().String())
		}
		c.findings = append(c.findings, finding)
		return prefix, false
	case prefix.Bits() == 0 || prefix.Addr().IsMulticast() || prefix.Addr().IsLoopback() || prefix.Addr().IsUnspecified():
		c.add(p, source.WrongValue, "%s cannot be the prefix of an interface", prefix)
		return prefix, false
	}
	return prefix, true
}

// subnet compiles a subnet. It excludes unusable addresses, regardless of the ranges: the address of the network, which
// in IPv6 belongs to all its routers (RFC 4291, 2.6.1), the broadcast address, and the gateway's.
func (c *compiler) subnet(pool *Pool, p position, prefix netip.Prefix, spec v1alpha1.NetworkSubnet) ledger.Subnet {
	var dynamic, static, never netipx.IPSetBuilder
	before := len(c.findings)
	whole := netipx.RangeOfPrefix(prefix)
	if hosts := prefix.Addr().BitLen() - prefix.Bits(); hosts > 1 {
		never.Add(whole.From())
		if prefix.Addr().Is4() {
			never.Add(whole.To())
		}
	}
	if gateway, ok := c.gateway(p.At("gateway"), spec.Gateway, prefix); ok {
		never.Add(gateway)
		pool.Gateways = append(pool.Gateways, gateway)
	}
	if len(spec.Ranges) == 0 {
		dynamic.AddRange(whole)
	}
	c.ranges(p.At("ranges"), spec.Ranges, prefix, dynamic.AddRange)
	c.ranges(p.At("exclude"), spec.Exclude, prefix, never.AddRange)
	c.ranges(p.At("reserved"), spec.Reserved, prefix, func(r netipx.IPRange) { static.AddRange(r); dynamic.RemoveRange(r) })
	none, err := never.IPSet()
	if err == nil {
		dynamic.RemoveSet(none)
		static.RemoveSet(none)
	}
	subnet := ledger.Subnet{Prefix: prefix}
	if subnet.Dynamic, err = dynamic.IPSet(); err == nil {
		subnet.Static, err = static.IPSet()
	}
	if err != nil {
		c.add(p, source.WrongValue, "the addresses cannot be computed: %s", err)
		subnet.Dynamic, subnet.Static = &netipx.IPSet{}, &netipx.IPSet{}
	} else if len(subnet.Dynamic.Ranges())+len(subnet.Static.Ranges()) == 0 && len(c.findings) == before {
		c.add(p, NoRoom, "%s has no free address: use a larger prefix or exclude fewer addresses", prefix)
	}
	return subnet
}

// ranges reads a list of ranges, which must lie in the prefix.
func (c *compiler) ranges(p position, list []source.Text, prefix netip.Prefix, add func(netipx.IPRange)) {
	for i, t := range list {
		r, err := parseRange(t.Value)
		switch {
		case err != nil:
			c.add(p.Item(i), source.WrongValue, "%s", err)
		case !prefix.Contains(r.From()) || !prefix.Contains(r.To()):
			c.add(p.Item(i), Outside, "%s is not in %s", t.Value, prefix)
		default:
			add(r)
		}
	}
}

// gateway reads the gateway of a subnet.
func (c *compiler) gateway(p position, t source.Text, prefix netip.Prefix) (netip.Addr, bool) {
	if t.At.Absent() {
		return netip.Addr{}, false
	}
	gateway, err := device.ParseAddr(t.Value)
	switch {
	case err != nil:
		c.add(p, source.WrongValue, "%s", err)
	case gateway.BitLen() != prefix.Addr().BitLen():
		c.add(p, Outside, "%s is of another family than %s", gateway, prefix)
	case !prefix.Contains(gateway) && !gateway.IsLinkLocalUnicast():
		c.add(p, Outside, "%s is neither in %s nor local to the link", gateway, prefix)
	case prefix.Bits() < gateway.BitLen()-1 && gateway.Is4() && gateway == netipx.RangeOfPrefix(prefix).To():
		c.add(p, Outside, "%s is the broadcast address of %s", gateway, prefix)
	default:
		return gateway, true
	}
	return netip.Addr{}, false
}

// familyName returns the name of a family by its length in bits.
func familyName(bits int) string {
	if bits == 32 {
		return "IPv4"
	}
	return "IPv6"
}

// serves reports whether the server of a node serves the pool.
func (p *Pool) serves(node string) bool { return len(p.Nodes) == 0 || slices.Contains(p.Nodes, node) }

// hasFamily reports whether the pool may have addresses of a family. It returns true if the cloud selects them.
func (p *Pool) hasFamily(bits int) bool {
	return len(p.Subnets) == 0 || slices.ContainsFunc(p.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Addr().BitLen() == bits })
}

// reaches reports whether a gateway is on the link: in a subnet, link-local, or in the destination of a route over the
// link.
func (p *Pool) reaches(gateway netip.Addr) bool {
	return len(p.Subnets) == 0 || gateway.IsLinkLocalUnicast() ||
		slices.ContainsFunc(p.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Contains(gateway) }) ||
		slices.ContainsFunc(p.Routes, func(r device.Route) bool {
			link, err := device.ParsePrefix(r.Destination)
			return err == nil && r.Gateway == "" && link.Contains(gateway)
		})
}

// hasFinding reports whether there is a finding about a value or its parts since the number of findings was before.
func (c *compiler) hasFinding(before int, p position) bool {
	return slices.ContainsFunc(c.findings[before:], func(f source.Finding) bool { return source.Within(f.Path, p.Path) })
}
