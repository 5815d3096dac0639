// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// subnets compiles those of a pool, at most one of each family.
func (c *compiler) subnets(pool *Pool, p place, specs []v1alpha1.NetworkSubnet) {
	families := map[int]place{}
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
		c.wired = append(c.wired, pool)
	}
}

// familyName is that of a family by its length in bits.
func familyName(bits int) string {
	if bits == 32 {
		return "IPv4"
	}
	return "IPv6"
}

// prefix reads the prefix of a subnet: one of hosts.
func (c *compiler) prefix(p place, t source.Text) (netip.Prefix, bool) {
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
		c.add(p, source.WrongValue, "%s is no prefix of interfaces", prefix)
		return prefix, false
	}
	return prefix, true
}

// subnet compiles one. What a machine cannot have is never given, whatever the ranges say: the address of the network, which is that of all its
// routers in IPv6 (RFC 4291, 2.6.1), the broadcast address, and that of the gateway.
func (c *compiler) subnet(pool *Pool, p place, prefix netip.Prefix, spec v1alpha1.NetworkSubnet) ledger.Subnet {
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
	c.ranges(p.At("ranges"), spec.Ranges, whole, dynamic.AddRange)
	c.ranges(p.At("exclude"), spec.Exclude, whole, never.AddRange)
	c.ranges(p.At("reserved"), spec.Reserved, whole, func(r netipx.IPRange) { static.AddRange(r); dynamic.RemoveRange(r) })
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
		c.add(p, source.WrongValue, "the addresses cannot be told: %s", err)
		subnet.Dynamic, subnet.Static = &netipx.IPSet{}, &netipx.IPSet{}
	} else if len(subnet.Dynamic.Ranges())+len(subnet.Static.Ranges()) == 0 && len(c.findings) == before {
		c.add(p, NoRoom, "no address of %s is left to be given", prefix)
	}
	return subnet
}

// ranges reads those of a list that lie in the prefix.
func (c *compiler) ranges(p place, list []source.Text, whole netipx.IPRange, add func(netipx.IPRange)) {
	for i, t := range list {
		r, err := parseRange(t.Value)
		switch {
		case err != nil:
			c.add(p.Item(i), source.WrongValue, "%s", err)
		case !whole.Contains(r.From()) || !whole.Contains(r.To()):
			c.add(p.Item(i), Outside, "%s is not in %s", t.Value, prefixOf(whole))
		default:
			add(r)
		}
	}
}

func prefixOf(r netipx.IPRange) netip.Prefix {
	prefix, _ := r.Prefix() // it was made of one
	return prefix
}

// gateway reads that of a subnet.
func (c *compiler) gateway(p place, t source.Text, prefix netip.Prefix) (netip.Addr, bool) {
	if t.At.Absent() {
		return netip.Addr{}, false
	}
	gateway, err := parseAddress(t.Value)
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
