// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// leased reports whether the subnet belongs to one of Graft's address spaces.
func (s Subnet) leased() bool { return s.Space == ipam.LocalSpace || s.Space == ipam.GlobalSpace }

// exclusive reports whether the IPAM driver never allocates an address of the space to two existing networks.
func (s Subnet) exclusive() bool {
	return s.leased() || s.Space == "LocalDefault" || s.Space == "GlobalDefault"
}

// owns reports whether endpoints have allocations of their own, because no IPAM driver allocates for the
// network.
func (n Network) owns(profile *policy.Profile) bool {
	return profile != nil && len(profile.Pools) > 0 && !slices.ContainsFunc(n.Subnets, Subnet.Gives)
}

// settle validates the subnets against the pools, and derives the bridge's addresses and the MTU.
func (c *composed) settle() error {
	for i, s := range c.Subnets {
		if !s.Gives() {
			continue
		}
		for _, other := range c.Subnets[:i] {
			if other.Gives() && other.Prefix.Overlaps(s.Prefix) {
				return fmt.Errorf("%w: the subnets %s and %s overlap", ErrImpossible, other.Prefix, s.Prefix)
			}
		}
		if err := c.subnet(s); err != nil {
			return err
		}
		if s.Gateway.IsValid() {
			c.bridgeHas(s.Gateway, s.Prefix)
		}
	}
	if c.owns(c.profile) {
		c.own()
	}
	problems := c.segment().Problems()
	delete(problems, "network") // the identifier was checked before; a mere check has none
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", ErrImpossible, described(problems))
	}
	if !c.Outside && c.Link.Kind != link.Bridge && c.Link.Kind != link.VXLAN {
		return fmt.Errorf("%w: gateway: the machine has no address in a network of kind %s", ErrImpossible, c.Link.Kind)
	}
	return nil
}

// described joins problems by field in one line.
func described(problems map[string]error) string {
	var texts []string
	for field, err := range problems {
		texts = append(texts, field+": "+err.Error())
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// bridgeHas adds an address of the bridge if the gateways are on this machine.
func (c *composed) bridgeHas(gateway netip.Addr, subnet netip.Prefix) {
	if c.Outside {
		return
	}
	bits := subnet.Bits()
	if !subnet.Contains(gateway) { // link-local
		bits = min(64, gateway.BitLen())
	}
	if address := netip.PrefixFrom(gateway, bits); !slices.Contains(c.Gateways, address) {
		c.Gateways = append(c.Gateways, address)
	}
}

// subnet validates a subnet against the pools.
func (c *composed) subnet(s Subnet) error {
	if s.leased() {
		return c.leasedSubnet(s)
	}
	if c.profile != nil && len(c.profile.Pools) > 0 {
		return fmt.Errorf("%w: the profile %s has pools, and %s comes from elsewhere: use --ipam-driver graft --ipam-opt profile=%s, or --ipam-driver null",
			ErrImpossible, c.profile.Name, s.Prefix, c.profile.Name)
	}
	if pool, prefix := s.overlap(c.policy); pool != nil {
		return fmt.Errorf("%w: %s overlaps %s of the pool %s, which gives its addresses to others, too: use --ipam-driver graft --ipam-opt pool=%s",
			ErrImpossible, s.Prefix, prefix, pool.Name, pool.Name)
	}
	return nil
}

// leasedSubnet validates a leased subnet against the profile.
func (c *composed) leasedSubnet(s Subnet) error {
	pool := c.policy.PoolOf(s.Prefix)
	if pool == nil {
		return fmt.Errorf("%w: no pool has the subnet %s any more", ErrImpossible, s.Prefix)
	}
	if c.profile != nil && len(c.profile.Pools) > 0 && !slices.Contains(c.profile.Pools, pool) {
		return fmt.Errorf("%w: %s is of the pool %s, which is none of the profile %s", ErrImpossible, s.Prefix, pool.Name, c.profile.Name)
	}
	if c.subject.Pool == "" {
		c.subject.Pool = pool.Name
	}
	c.limit(pool)
	return nil
}

// limit sets the MTU of a pool if none was set, the smallest of several.
func (c *composed) limit(pool *policy.Pool) {
	if pool.MTU == nil || c.sized {
		return
	}
	if size := int(*pool.MTU); c.Link.MTU == 0 || size < c.Link.MTU {
		c.Link.MTU = size
	}
}

// own derives settings from the profile's pools, for a network whose endpoints have allocations of their own.
func (c *composed) own() {
	for _, pool := range c.profile.Pools {
		c.limit(pool)
		for _, gateway := range pool.Gateways {
			if families := c.profile.Families; families != nil && !slices.Contains(families, gateway.BitLen()) {
				continue
			}
			for _, subnet := range pool.Subnets {
				if gateway.BitLen() == subnet.Prefix.Addr().BitLen() {
					c.bridgeHas(gateway, subnet.Prefix)
				}
			}
		}
	}
}

// neighbour returns an error if two networks cannot exist on one machine. same is true if an IPAM driver
// allocated the subnet again, which proves that the other network is gone.
func (c *composed) neighbour(other networkRow) (same bool, err error) {
	if field := c.shares(other); field != "" {
		return false, fmt.Errorf("%w: the network %s has the %s already", ErrImpossible, short(other.ID), field)
	}
	for _, s := range c.Subnets {
		for _, o := range other.Subnets {
			if !s.Gives() || !o.Gives() || !s.Prefix.Overlaps(o.Prefix) {
				continue
			}
			if s.Space == o.Space && s.exclusive() {
				return true, fmt.Errorf("%w: %s overlaps %s of the network %s", ErrImpossible, s.Prefix, o.Prefix, short(other.ID))
			}
			if c.joins(other.Link) && (!s.leased() || !o.leased()) {
				return false, fmt.Errorf("%w: %s overlaps %s of the network %s, which is on the same segment", ErrImpossible, s.Prefix, o.Prefix, short(other.ID))
			}
		}
	}
	for _, gateway := range c.Gateways {
		for _, others := range other.Gateways {
			if gateway.Overlaps(others) && !gateway.Addr().IsLinkLocalUnicast() {
				return false, fmt.Errorf("%w: the bridge of the network %s has %s already", ErrImpossible, short(other.ID), others)
			}
		}
	}
	return false, nil
}

// shares returns the exclusive resource that both networks use, or "".
func (c *composed) shares(other networkRow) string {
	one, two := c.Link, other.Link
	if one.Kind == link.VXLAN || two.Kind == link.VXLAN {
		if one.Kind == two.Kind && one.VNI == two.VNI {
			return fmt.Sprintf("vxlan %d", one.VNI)
		}
		return ""
	}
	if !c.joins(two) || beside(one, two) {
		return ""
	}
	if one.VLAN != 0 {
		return fmt.Sprintf("VLAN %d of %s", one.VLAN, one.Parent)
	}
	return "parent " + one.Parent
}

// beside reports whether networks can share a parent, or a VLAN of it.
func beside(one, two link.Spec) bool {
	if one.Kind == link.VLAN || two.Kind == link.VLAN {
		return one.Kind == two.Kind || one.VLAN == 0 // endpoints have their own VLANs
	}
	return one.Kind == two.Kind && one.Kind != link.Bridge && one.Mode != "passthru" && two.Mode != "passthru"
}

// joins reports whether two networks are on the same segment.
func (c *composed) joins(other link.Spec) bool {
	return c.Link.Parent != "" && c.Link.Kind != link.VXLAN && other.Kind != link.VXLAN && c.Link.Parent == other.Parent && c.Link.VLAN == other.VLAN
}

// segment returns the network's desired state in the kernel, without peers.
func (r networkRow) segment() link.Segment {
	return link.Segment{Network: r.ID, Spec: r.Link, Gateways: r.Gateways}
}
