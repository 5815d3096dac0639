// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
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
	if !ptr.Deref(on.DHCP, false) && !ptr.Deref(on.DisableEBPFPrograms, false) && !ptr.Deref(on.Forwarding, false) {
		other.Interface.DHCP, other.Interface.DisableEBPFPrograms, other.Interface.Forwarding = nil, nil, nil // as Docker has them
	}
	isBeyond := func(r device.Route) bool { _, ok := routeOf(r); return !ok }
	if slices.ContainsFunc(config.Routes, isBeyond) || !equality.Semantic.DeepEqual(other, device.Config{}) {
		return config, fmt.Errorf("%w: Docker supports interface.name, interface.mtu, and routes of the main table without "+
			"a source, but the config of the profile %s has more", link.ErrImpossible, profile.Name)
	}
	return config, nil
}

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
	if !c.Outside && !c.Link.Bridged() && len(problems) == 0 {
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
	if pool.MTU != nil && !c.hasMTU && (c.Link.MTU == 0 || int(*pool.MTU) < c.Link.MTU) { // the smallest of several
		c.Link.MTU = int(*pool.MTU)
	}
	return nil
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

const (
	optionMTU     = "mtu"
	optionVNI     = "vni"
	optionGateway = "gateway"
	// The values of the option gateway.
	gatewayMachine, gatewayOutside = "machine", "outside"
)

// synonyms maps options of Docker's own drivers to ours.
var synonyms = map[string]string{
	ipam.OwnOptions + "network.driver.mtu": optionMTU, ipam.OwnOptions + "network.container_iface_prefix": "prefix",
}

// option describes an option of networks.
type option struct {
	field func(*composed) any
	// least and most limit a number.
	least, most int
	// check validates a text. It may be nil.
	check func(text string) error
}

// networkOptions has all options of networks except the profile.
var networkOptions = map[string]option{
	"kind":        {field: func(c *composed) any { return &c.Link.Kind }},
	"parent":      {field: func(c *composed) any { return &c.Link.Parent }},
	"vlan":        {field: func(c *composed) any { return &c.Link.VLAN }, least: 1, most: link.MaxVLAN},
	"mode":        {field: func(c *composed) any { return &c.Link.Mode }},
	optionMTU:     {field: func(c *composed) any { return &c.Link.MTU }, least: link.MinMTU, most: link.MaxMTU},
	optionVNI:     {field: func(c *composed) any { return &c.Link.VNI }, least: 1, most: link.MaxVNI},
	"port":        {field: func(c *composed) any { return &c.Link.Port }, least: 1, most: 65535},
	"local":       {field: func(c *composed) any { return &c.Link.Local }},
	"peers":       {field: func(c *composed) any { return &c.Link.Peers }},
	optionGateway: {field: func(c *composed) any { return &c.gateway }, check: oneOf(gatewayMachine, gatewayOutside)},
	"isolated":    {field: func(c *composed) any { return &c.Isolated }, check: oneOf("true", "false")},
	"prefix": {field: func(c *composed) any { return &c.Prefix }, check: func(text string) error {
		if !policy.IsInterfacePrefix(text) {
			return errors.New("must be 1 to 12 letters, digits, _, - and ., and begin with a letter")
		}
		return nil
	}},
}

// oneOf returns a check that a text is one of the words.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("must be %s%s", strings.Join(words, " or "), source.Suggest(text, words))
	}
}

// set parses the option's value.
func (o option) set(c *composed, text string) (err error) {
	if o.check != nil {
		if err := o.check(text); err != nil {
			return err
		}
	}
	switch to := o.field(c).(type) {
	case *string:
		*to = text
	case *link.Kind:
		*to = link.Kind(text)
	case *bool:
		*to = text == "true"
	case *int:
		err = number(to, text, o.least, o.most)
	case *netip.Addr:
		*to, err = parseAddress(text)
	case *[]netip.Addr:
		*to, err = parseAddresses(text)
	}
	return err
}

// text returns the option's value.
func (o option) text(c *composed) string { return fmt.Sprint(reflect.ValueOf(o.field(c)).Elem()) }

// number parses a whole number in a range.
func number(to *int, text string, least, most int) error {
	read, err := strconv.Atoi(text)
	if err != nil || read < least || read > most {
		return fmt.Errorf("must be a number from %d to %d", least, most)
	}
	*to = read
	return nil
}

func parseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, errors.New("must be an address, such as 192.0.2.1")
	}
	return address.Unmap(), nil
}

// parseAddresses parses a list and removes duplicates.
func parseAddresses(text string) ([]netip.Addr, error) {
	var all []netip.Addr
	for item := range strings.SplitSeq(text, ",") {
		address, err := parseAddress(item)
		if err != nil {
			return nil, errors.New("must be addresses with commas between them, such as 192.0.2.1,192.0.2.2")
		}
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all, nil
}

// applyOptions sets the user's options. Those that are fixed must not contradict the profile. It returns all errors.
func (c *composed) applyOptions(fixed map[string]bool) error {
	ours := map[string]string{}
	for name, text := range c.Options {
		if own := synonyms[name]; own != "" && c.Options[own] == "" {
			ours[own] = text
		} else if name != ipam.OptionProfile && !strings.HasPrefix(name, ipam.OwnOptions) {
			ours[name] = text
		}
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		o, known := networkOptions[name]
		if !known {
			all := append(slices.Collect(maps.Keys(networkOptions)), ipam.OptionProfile)
			slices.Sort(all)
			problems = append(problems, fmt.Sprintf("there is no option %q%s; there are %s", name,
				source.Suggest(name, all), strings.Join(all, ", ")))
			continue
		}
		was := o.text(c)
		if err := o.set(c, ours[name]); err != nil {
			problems = append(problems, "the option "+name+" "+err.Error())
		} else if is := o.text(c); fixed[name] && was != is {
			problems = append(problems, fmt.Sprintf("the option %s=%s contradicts the profile %s, which says %s", name,
				is, c.Profile, was))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", link.ErrImpossible, strings.Join(problems, "; "))
	}
	return nil
}
