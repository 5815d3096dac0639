// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// plan is a planned endpoint with its sources.
type plan struct {
	endpointRow
	network networkRow
	policy  *policy.Policy
	profile *policy.Profile
	subject policy.Subject
	// grants are the allocations of its addresses.
	grants []poolAllocation
}

// poolAllocation is an allocation with its pool, which is nil if it no longer exists.
type poolAllocation struct {
	network.Allocation
	pool *policy.Pool
}

// plan plans an endpoint. It changes nothing.
func (o *Options) plan(ctx context.Context, n networkRow, e Endpoint) (*plan, error) {
	p := &plan{network: n, policy: o.Policy()}
	p.Endpoint = e
	if n.Link.Kind == link.VLAN {
		p.VLAN, p.Trunk = n.Link.VLAN, n.Link.Parent
	}
	if n.Profile != "" {
		if p.profile = p.policy.Profile(n.Profile); p.profile == nil {
			return nil, fmt.Errorf("%w: the profile %q of the network does not exist any more", link.ErrImpossible, n.Profile)
		}
	}
	if err := n.checkIPAM(p.profile); err != nil {
		return nil, err // the profile has got pools since
	}
	if err := p.readOptions(); err != nil {
		return nil, err
	}
	if err := p.checkRequest(); err != nil {
		return nil, err
	}
	options := map[string]string{}
	maps.Copy(options, n.Options)
	maps.Copy(options, e.Options) // which override those of the network
	p.subject = policy.Subject{Contract: ipam.Contract, Profile: n.Profile, Node: o.Node, Network: n.ID, Options: options}
	for _, address := range e.Addresses {
		p.subject.Addresses = append(p.subject.Addresses, address.Addr())
	}
	return p, p.followLeases(ctx, o.Leases)
}

// sharesMAC reports whether all endpoints of the network have the MAC address of its parent.
func (p *plan) sharesMAC() bool { return p.network.Link.Kind == link.Ipvlan }

// readOptions parses the endpoint's options.
func (p *plan) readOptions() error {
	const optionVLAN = "vlan"
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		switch {
		case strings.HasPrefix(name, ipam.OwnOptions):
		case name != optionVLAN:
			return fmt.Errorf("%w: endpoints have no option %q%s; there is %s", link.ErrImpossible, name,
				source.Suggest(name, []string{optionVLAN}), optionVLAN)
		case p.Trunk == "" || p.network.Link.VLAN != 0:
			return fmt.Errorf("%w: the option vlan is for networks of kind vlan that have no VLAN themselves", link.ErrImpossible)
		default:
			if err := number(&p.VLAN, p.Options[name], 1, link.MaxVLAN); err != nil {
				return fmt.Errorf("%w: the option vlan %w", link.ErrImpossible, err)
			}
		}
	}
	return nil
}

// checkRequest validates the requested addresses and the MAC address.
func (p *plan) checkRequest() error {
	for _, address := range p.Addresses {
		if err := p.network.checkAddress(address.Addr()); err != nil {
			return err
		}
		if err := p.network.subnet(address.Addr()).checkOverlap(p.policy); err != nil {
			return err
		}
	}
	if len(p.MAC) == 0 {
		return nil
	}
	if p.sharesMAC() {
		return fmt.Errorf("%w: all endpoints of an ipvlan have the MAC address of their parent: remove the requested one",
			link.ErrImpossible)
	}
	if err := link.MACProblem(p.MAC); err != nil {
		return fmt.Errorf("%w: %w", link.ErrImpossible, err)
	}
	return nil
}

// subnet returns the subnet that contains an address, or the zero Subnet.
func (r networkRow) subnet(address netip.Addr) Subnet {
	for _, s := range r.Subnets {
		if s.IsAllocated() && s.Prefix.Contains(address) {
			return s
		}
	}
	return Subnet{}
}

// checkAddress returns an error if an endpoint cannot have the address.
func (r networkRow) checkAddress(address netip.Addr) error {
	if slices.ContainsFunc(r.Subnets, Subnet.IsAllocated) && !r.subnet(address).IsAllocated() {
		return fmt.Errorf("%w: %s is in no subnet of the network", link.ErrImpossible, address)
	}
	for _, s := range r.Subnets {
		if s.Gateway == address {
			return fmt.Errorf("%w: %s is the gateway's", network.ErrTaken, address)
		}
		for name, auxiliary := range s.Auxiliary {
			if auxiliary == address {
				return fmt.Errorf("%w: %s is the auxiliary address %s", network.ErrTaken, address, name)
			}
		}
	}
	if slices.ContainsFunc(r.Gateways, func(g netip.Prefix) bool { return g.Addr() == address }) {
		return fmt.Errorf("%w: %s is the bridge's", network.ErrTaken, address)
	}
	return nil
}

// followLeases derives the settings from the endpoint's addresses. Those from Graft's pools have allocations.
func (p *plan) followLeases(ctx context.Context, leases Leases) error {
	for _, address := range p.Addresses {
		s := p.network.subnet(address.Addr())
		if s.leased() {
			allocation, pool, err := leases.Find(ctx, s.Space, s.Prefix, address.Addr())
			if errors.Is(err, network.ErrNotHeld) {
				return fmt.Errorf("%w: the IPAM driver has not allocated %s, or it was released", link.ErrImpossible, address.Addr())
			}
			if err != nil {
				return err
			}
			p.grants = append(p.grants, poolAllocation{allocation, pool})
			p.subject.Pool = cmp.Or(p.subject.Pool, allocation.Pool)
		}
		p.addGateway(s.Gateway)
	}
	if err := p.policy.Permit(ctx, p.subject); err != nil {
		return err
	}
	return p.complete(ctx)
}

// complete fills in MAC address, VLAN, routes and gateways.
func (p *plan) complete(ctx context.Context) error {
	if err := cmp.Or(p.setHardware(), p.setVLAN()); err != nil {
		return err
	}
	if p.profile != nil {
		config, err := supportedConfig(ctx, p.profile, p.subject)
		if err != nil {
			return err
		}
		p.Name = cmp.Or(p.Name, config.Interface.Name)
		p.addRoutes(config.Routes, 0)
	}
	for _, g := range p.grants {
		if g.pool == nil {
			continue
		}
		config := g.pool.Config(g.Allocation)
		for _, address := range g.Addresses {
			p.addRoutes(config.Routes, address.BitLen())
			for _, gateway := range g.pool.Gateways {
				if gateway.BitLen() == address.BitLen() {
					p.addGateway(gateway)
				}
			}
		}
	}
	p.restrictRoutes()
	return nil
}

// setHardware sets the MAC address: from the request, a cloud or an allocation, or one that derives from the
// endpoint.
func (p *plan) setHardware() error {
	asked, bound := p.MAC, network.HardwareAddr(nil)
	for _, g := range p.grants {
		by := g.Binding.MAC
		if len(by) > 0 && len(bound) > 0 && !bytes.Equal(by, bound) {
			return fmt.Errorf("%w: the cloud has bound the addresses to two MAC addresses, %s and %s: use one family",
				link.ErrImpossible, bound, by)
		}
		if len(by) > 0 {
			bound = by
		}
		if len(p.MAC) == 0 {
			p.MAC = g.HardwareAddr()
		}
	}
	isParents := p.sharesMAC() || p.network.Link.Mode == link.Passthru && len(asked) == 0
	switch {
	case len(bound) > 0 && p.sharesMAC():
		return fmt.Errorf("%w: the cloud chose the MAC address %s, but all endpoints of an ipvlan have that of "+
			"their parent", link.ErrImpossible, bound)
	case len(bound) > 0 && len(asked) > 0 && !bytes.Equal(asked, bound):
		return fmt.Errorf("%w: the MAC address %s is requested, but the cloud chose %s", link.ErrImpossible, asked, bound)
	case len(bound) > 0:
		p.MAC = bound
	case isParents:
		p.MAC = nil
	case len(p.MAC) == 0:
		p.MAC = derivedMAC(p.key())
	}
	return nil
}

// setVLAN sets the VLAN of an endpoint that has its own: from the request, or else from the allocations.
func (p *plan) setVLAN() error {
	if p.Trunk == "" {
		return nil
	}
	for _, g := range p.grants {
		p.VLAN = cmp.Or(p.VLAN, int(g.VLANID()))
	}
	if p.VLAN == 0 {
		return fmt.Errorf("%w: a network of kind vlan needs the option vlan, a pool that has VLANs, or the option vlan "+
			"of each endpoint", link.ErrImpossible)
	}
	return nil
}

// derivedMAC returns a locally administered unicast address (IEEE 802, 8.2) derived from an endpoint's key.
func derivedMAC(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	mac := sum[:6]
	mac[0] = mac[0]&^1 | 2
	return mac
}

// mainTable is the number of the default routing table (Linux: rtnetlink.h, RT_TABLE_MAIN).
const mainTable = 254

// routeOf converts a valid route to Docker's form, which has a destination and a gateway only. ok is false for a route
// with other settings.
func routeOf(r device.Route) (made network.Route, ok bool) {
	destination, err := device.ParsePrefix(r.Destination)
	made.Destination = destination.Masked()
	if err == nil && r.Gateway != "" {
		made.Gateway, err = device.ParseAddr(r.Gateway)
	}
	return made, err == nil && (r.Table == 0 || r.Table == mainTable) && r.Source == ""
}

// addGateway adds a gateway unless there is one of its family.
func (p *plan) addGateway(address netip.Addr) {
	same := func(other netip.Addr) bool { return other.BitLen() == address.BitLen() }
	if address.IsValid() && !slices.ContainsFunc(p.Gateways, same) {
		p.Gateways = append(p.Gateways, address)
	}
}

// addRoute adds a route. A default route with a gateway sets the gateway. The first of two routes to one
// destination counts.
func (p *plan) addRoute(r network.Route) {
	if r.Destination.Bits() == 0 && r.Gateway.IsValid() {
		p.addGateway(r.Gateway)
	} else if !slices.ContainsFunc(p.Routes,
		func(other network.Route) bool { return other.Destination == r.Destination }) {
		p.Routes = append(p.Routes, r)
	}
}

// addRoutes adds the routes of a family, or of both if bits is 0. It ignores routes with other settings.
func (p *plan) addRoutes(routes []device.Route, bits int) {
	for _, r := range routes {
		route, ok := routeOf(r)
		if ok && (bits == 0 || route.Destination.Addr().BitLen() == bits) {
			p.addRoute(route)
		}
	}
}

// restrictRoutes removes the routes and gateways that the network or the families of the addresses do not allow: an
// internal network has none to the outside, and an isolated one only explicit ones. An ipvlan in an l3 mode has
// a default route over the link instead of a gateway.
func (p *plan) restrictRoutes() {
	n := p.network.Network
	hasFamily := func(a netip.Addr) bool {
		return slices.ContainsFunc(p.Addresses, func(own netip.Prefix) bool { return own.Addr().BitLen() == a.BitLen() })
	}
	closed := n.Internal || n.Isolated
	p.Routes = slices.DeleteFunc(p.Routes, func(r network.Route) bool {
		return !hasFamily(r.Destination.Addr()) || r.Destination.Bits() == 0 && closed || n.Internal && r.Gateway.IsValid()
	})
	p.Gateways = slices.DeleteFunc(p.Gateways, func(g netip.Addr) bool { return !hasFamily(g) || closed || n.isRouted() })
	for _, any := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if n.isRouted() && !closed && hasFamily(any) {
			p.addRoute(network.Route{Destination: netip.PrefixFrom(any, 0)})
		}
	}
}
