// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// composed is a network with its sources.
type composed struct {
	networkRow
	policy  *policy.Policy
	profile *policy.Profile
	subject policy.Subject
	// gateway is the option gateway, or "".
	gateway string
	// hasMTU is true if the MTU was set explicitly.
	hasMTU bool
}

// compose combines options and profile to a network. It does not check subnets and rules.
func (o *Options) compose(ctx context.Context, n Network) (*composed, error) {
	c := &composed{networkRow: networkRow{Network: n}, policy: o.Policy()}
	c.subject = policy.Subject{Contract: ipam.Contract, Node: o.Node, Network: n.ID, Options: n.Options}
	fixed := map[string]bool{}
	if name, chosen := n.Options[ipam.OptionProfile]; chosen {
		profile, err := c.policy.Choose(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", link.ErrImpossible, err)
		}
		c.profile, c.Profile, c.subject.Profile = profile, profile.Name, profile.Name
		if fixed, err = c.applyProfile(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.applyOptions(fixed); err != nil {
		return nil, err
	}
	c.Link.Kind, c.hasMTU = cmp.Or(c.Link.Kind, link.Bridge), c.Link.MTU != 0
	c.Outside = c.gateway == gatewayOutside || c.gateway == "" && policy.LeadsOutside(c.Link)
	return c, nil
}

// applyProfile sets the settings of the profile, and returns the options that must not change them.
func (c *composed) applyProfile(ctx context.Context) (fixed map[string]bool, err error) {
	fixed = map[string]bool{}
	if l := c.profile.Link; l != nil {
		maps.Copy(fixed, l.Fixed)
		c.Link, c.Isolated, c.Prefix = l.Spec, l.Isolated, l.Prefix
		c.Link.Peers = slices.Clone(l.Peers)
		if fixed[optionGateway] && l.Outside {
			c.gateway = gatewayOutside
		} else if fixed[optionGateway] {
			c.gateway = gatewayMachine
		}
	}
	config, err := supportedConfig(ctx, c.profile, c.subject)
	if mtu := config.Interface.MTU; err == nil && mtu != nil {
		c.Link.MTU, fixed[optionMTU] = int(*mtu), true
	}
	return fixed, err
}

// supportedConfig returns the configuration of a profile. It fails for settings that a response to Docker cannot express
// (libnetwork, drivers/remote/api: JoinResponse).
func supportedConfig(ctx context.Context, profile *policy.Profile, subject policy.Subject) (device.Config, error) {
	config, err := profile.Config(ctx, subject)
	if err != nil {
		return config, err
	}
	other, on := config, &config.Interface
	other.Interface.Name, other.Interface.MTU, other.Routes = "", nil, nil
	if !isTrue(on.DHCP) && !isTrue(on.DisableEBPFPrograms) && !isTrue(on.Forwarding) {
		other.Interface.DHCP, other.Interface.DisableEBPFPrograms, other.Interface.Forwarding = nil, nil, nil // as Docker has them
	}
	if slices.ContainsFunc(config.Routes, beyondDocker) || !equality.Semantic.DeepEqual(other, device.Config{}) {
		return config, fmt.Errorf("%w: Docker supports interface.name, interface.mtu, and routes of the main table without "+
			"a source, but the config of the profile %s has more", link.ErrImpossible, profile.Name)
	}
	return config, nil
}

func isTrue(setting *bool) bool { return setting != nil && *setting }

// complete validates the subnets against the pools, and derives the bridge's addresses and the MTU.
func (c *composed) complete() error {
	for i, s := range c.Subnets {
		if !s.IsAllocated() {
			continue
		}
		for _, other := range c.Subnets[:i] {
			if other.IsAllocated() && other.Prefix.Overlaps(s.Prefix) {
				return fmt.Errorf("%w: the subnets %s and %s overlap", link.ErrImpossible, other.Prefix, s.Prefix)
			}
		}
		if err := c.completeSubnet(s); err != nil {
			return err
		}
		c.addGateway(s.Gateway, s.Prefix)
	}
	problems := c.segment().Problems()
	if !c.Outside && c.Link.Kind != link.Bridge && c.Link.Kind != link.VXLAN && len(problems) == 0 {
		problems["gateway"] = fmt.Errorf("the machine has no address in a network of kind %s", c.Link.Kind)
	}
	if len(problems) == 0 {
		return nil
	}
	var texts []string
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		texts = append(texts, field+": "+problems[field].Error())
	}
	return fmt.Errorf("%w: %s", link.ErrImpossible, strings.Join(texts, "; "))
}

// addGateway adds an address of the bridge if the gateways are on this machine.
func (c *composed) addGateway(gateway netip.Addr, subnet netip.Prefix) {
	if c.Outside || !gateway.IsValid() {
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

// hasPools reports whether the addresses of the network must be from the pools of a profile.
func (c *composed) hasPools() bool { return c.profile != nil && len(c.profile.Pools) > 0 }

// checkIPAM returns an error if no IPAM driver allocates addresses for a network whose profile has pools.
func (n Network) checkIPAM(profile *policy.Profile) error {
	if profile == nil || len(profile.Pools) == 0 || slices.ContainsFunc(n.Subnets, Subnet.IsAllocated) {
		return nil
	}
	return fmt.Errorf("%w: the profile %s has pools, but the network has no subnet: use --ipam-driver graft "+
		"--ipam-opt profile=%s, or a profile without pools", link.ErrImpossible, profile.Name, profile.Name)
}

// completeSubnet validates a subnet against the pools and the profile.
func (c *composed) completeSubnet(s Subnet) error {
	if !s.leased() {
		if c.hasPools() {
			return fmt.Errorf("%w: the profile %s has pools, but %s is not from them: use --ipam-driver graft "+
				"--ipam-opt profile=%s", link.ErrImpossible, c.profile.Name, s.Prefix, c.profile.Name)
		}
		return s.checkOverlap(c.policy)
	}
	pool := c.policy.PoolOf(s.Prefix)
	if pool == nil {
		return fmt.Errorf("%w: no pool has the subnet %s any more", link.ErrImpossible, s.Prefix)
	}
	if c.hasPools() && !slices.Contains(c.profile.Pools, pool) {
		return fmt.Errorf("%w: %s belongs to the pool %s, which is not in the profile %s", link.ErrImpossible, s.Prefix, pool.Name,
			c.profile.Name)
	}
	c.subject.Pool = cmp.Or(c.subject.Pool, pool.Name)
	c.limitMTU(pool)
	return nil
}

// limitMTU sets the MTU of a pool if none was set, the smallest of several.
func (c *composed) limitMTU(pool *policy.Pool) {
	if pool.MTU == nil || c.hasMTU {
		return
	}
	if size := int(*pool.MTU); c.Link.MTU == 0 || size < c.Link.MTU {
		c.Link.MTU = size
	}
}

// conflict returns an error if two networks cannot exist on one machine. forgotten is true if an IPAM driver
// allocated the subnet again, which proves that the other network is gone.
func (c *composed) conflict(other networkRow) (forgotten bool, err error) {
	if resource := exclusiveResource(c.Link, other.Link); resource != "" {
		return false, fmt.Errorf("%w: the network %s has the %s already", link.ErrImpossible, short(other.ID), resource)
	}
	sameSegment := c.Link.Parent != "" && onSameBase(c.Link, other.Link)
	for _, s := range c.Subnets {
		for _, o := range other.Subnets {
			if !s.IsAllocated() || !o.IsAllocated() || !s.Prefix.Overlaps(o.Prefix) {
				continue
			}
			if s.Space == o.Space && s.exclusive() {
				return true, fmt.Errorf("%w: %s overlaps %s of the network %s", link.ErrImpossible, s.Prefix, o.Prefix, short(other.ID))
			}
			if sameSegment && (!s.leased() || !o.leased()) {
				return false, fmt.Errorf("%w: %s overlaps %s of the network %s, which is on the same segment", link.ErrImpossible,
					s.Prefix, o.Prefix, short(other.ID))
			}
		}
	}
	for _, gateway := range c.Gateways {
		for _, others := range other.Gateways {
			if gateway.Overlaps(others) && !gateway.Addr().IsLinkLocalUnicast() {
				return false, fmt.Errorf("%w: the bridge of the network %s has %s already", link.ErrImpossible, short(other.ID), others)
			}
		}
	}
	return false, nil
}

// onSameBase reports whether the links of two networks are on the same interface.
func onSameBase(one, two link.Spec) bool {
	return one.Kind != link.VXLAN && two.Kind != link.VXLAN && one.Parent == two.Parent && one.VLAN == two.VLAN
}

// exclusiveResource returns the resource that both networks need for themselves, or "".
func exclusiveResource(one, two link.Spec) string {
	switch {
	case one.Kind == link.VXLAN && two.Kind == link.VXLAN && one.VNI == two.VNI:
		return fmt.Sprintf("vxlan %d", one.VNI)
	case one.Parent == "" || !onSameBase(one, two):
		return ""
	case (one.Kind == link.VLAN) != (two.Kind == link.VLAN) && one.VLAN == 0:
		return "" // endpoints have their own VLANs
	case one.Kind == two.Kind && one.Kind != link.Bridge && one.Mode != link.Passthru && two.Mode != link.Passthru:
		return ""
	case one.VLAN != 0:
		return fmt.Sprintf("VLAN %d of %s", one.VLAN, one.Parent)
	default:
		return "parent " + one.Parent
	}
}

// segment returns the network's desired state in the kernel, without discovered peers.
func (r networkRow) segment() link.Segment {
	return link.Segment{Network: r.ID, Spec: r.Link, Gateways: r.Gateways}
}
