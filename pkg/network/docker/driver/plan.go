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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// plan is a planned endpoint with its sources.
type plan struct {
	endpointRow
	network networkRow
	policy  *policy.Policy
	profile *policy.Profile
	subject policy.Subject
	// wanted has the addresses that the user requests for the endpoint itself, wantedRoutes the additional routes.
	wanted       []netip.Addr
	wantedRoutes []network.Route
	// grants are the allocations of its addresses.
	grants []poolAllocation
}

// poolAllocation is an allocation with its pool, which is nil if it no longer exists.
type poolAllocation struct {
	network.Allocation
	pool *policy.Pool
}

// plan plans an endpoint. It changes nothing. An endpoint that owns its addresses is completed when it has them.
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
	if err := p.readOptions(); err != nil {
		return nil, err
	}
	if err := p.checkRequest(); err != nil {
		return nil, err
	}
	options := map[string]string{}
	maps.Copy(options, n.Options)
	maps.Copy(options, e.Options) // which override those of the network
	p.subject = policy.Subject{Contract: ipam.Contract, Profile: n.Profile, Node: o.Node, Network: n.ID, Options: options,
		Addresses: p.wanted}
	for _, address := range e.Addresses {
		p.subject.Addresses = append(p.subject.Addresses, address.Addr())
	}
	if p.Owned = len(e.Addresses) == 0 && n.ownsAddresses(p.profile); p.Owned {
		return p, nil
	}
	if len(p.wanted) > 0 {
		return nil, fmt.Errorf("%w: the option address is for networks with --ipam-driver null whose profile has pools",
			link.ErrImpossible)
	}
	return p, p.followLeases(ctx, o.Leases)
}

// sharesMAC reports whether all endpoints of the network have the MAC address of its parent.
func (p *plan) sharesMAC() bool { return p.network.Link.Kind == link.Ipvlan }

// readOptions parses the endpoint's options.
func (p *plan) readOptions() error {
	known := []string{"address", "routes", "vlan"}
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		text := p.Options[name]
		var err error
		switch {
		case strings.HasPrefix(name, ipam.OwnOptions):
		case name == "address":
			p.wanted, err = parseAddresses(text)
			if err == nil && (len(p.wanted) > 2 || len(p.wanted) == 2 && p.wanted[0].BitLen() == p.wanted[1].BitLen()) {
				err = errors.New("must be at most one of each family")
			}
		case name == "routes":
			p.wantedRoutes, err = parseRoutes(text)
		case name == "vlan" && (p.Trunk == "" || p.network.Link.VLAN != 0):
			err = errors.New("is for networks of kind vlan that have no VLAN themselves")
		case name == "vlan":
			err = number(&p.VLAN, text, 1, link.MaxVLAN)
		default:
			return fmt.Errorf("%w: endpoints have no option %q%s; there are %s", link.ErrImpossible, name,
				source.Suggest(name, known), strings.Join(known, ", "))
		}
		if err != nil {
			return fmt.Errorf("%w: the option %s %w", link.ErrImpossible, name, err)
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
	for _, route := range p.wantedRoutes {
		p.addRoute(route)
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
			return fmt.Errorf("%w: the cloud has bound the addresses to two MAC addresses, %s and %s: one profile with "+
				"both families and --ipam-driver null asks for one", link.ErrImpossible, bound, by)
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
		p.VLAN = cmp.Or(p.VLAN, g.VLANID())
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

// allocate allocates addresses for an endpoint that owns them, from the first pool of the profile that is not
// exhausted, and completes the plan.
func (p *plan) allocate(ctx context.Context, o *Options) error {
	var exhausted []string
	for _, pool := range p.profile.Pools {
		if !hasAddresses(pool, p.wanted) {
			continue
		}
		allocation, err := p.allocateFrom(ctx, o, pool)
		if errors.Is(err, network.ErrExhausted) {
			exhausted = append(exhausted, err.Error())
			continue
		}
		if err != nil {
			return err
		}
		p.grants = []poolAllocation{{allocation, pool}}
		for _, text := range pool.Config(allocation).Interface.Addresses {
			address, err := device.ParsePrefix(text)
			if err != nil {
				return err
			}
			if err := p.network.checkAddress(address.Addr()); err != nil {
				return err
			}
			p.Addresses = append(p.Addresses, address)
		}
		return p.complete(ctx)
	}
	if len(exhausted) == 0 {
		return fmt.Errorf("%w: no pool of the profile %s has %s", network.ErrOutside, p.profile.Name,
			strings.Trim(fmt.Sprint(p.wanted), "[]"))
	}
	return fmt.Errorf("%w: the profile %s has no free resources: %s", network.ErrExhausted, p.profile.Name,
		strings.Join(exhausted, "; "))
}

// hasAddresses reports whether all addresses are in the pool's subnets. A pool without subnets may have any.
func hasAddresses(pool *policy.Pool, addresses []netip.Addr) bool {
	return len(pool.Subnets) == 0 || !slices.ContainsFunc(addresses, func(address netip.Addr) bool {
		return !slices.ContainsFunc(pool.Subnets, func(s ledger.Subnet) bool { return s.Prefix.Contains(address) })
	})
}

// allocateFrom checks rules and quotas and allocates from a pool.
func (p *plan) allocateFrom(ctx context.Context, o *Options, pool *policy.Pool) (network.Allocation, error) {
	p.subject.Pool = pool.Name
	if err := p.policy.Permit(ctx, p.subject); err != nil {
		return network.Allocation{}, err
	}
	quotas, err := pool.Quotas(ctx, p.subject)
	if err != nil {
		return network.Allocation{}, err
	}
	r := service.Request{
		Owner: ownerOf(p.Endpoint), Pool: pool.Name, Addresses: p.wanted, Families: p.profile.Families, Quotas: quotas,
		Holder:        network.Holder{Kind: "Endpoint", Name: p.ID, Device: link.InterfaceName(p.ID), Node: o.Node},
		PreviousOwner: ownerPrefix(p.Network), // a restarted container has a new endpoint
	}
	if p.Trunk != "" && p.VLAN == 0 {
		r.Trunk = network.Trunk{Node: o.Node}
	}
	got, err := o.Service.Allocate(ctx, r)
	if err != nil {
		return got, fmt.Errorf("allocating from the pool %s: %w", pool.Name, err)
	}
	return got, nil
}

// ownerPrefix returns the common prefix of the owners in a network.
func ownerPrefix(id string) string { return "endpoint/" + id + "/" }

// ownerOf returns the owner of addresses that are allocated for the endpoint itself.
func ownerOf(e Endpoint) network.Owner {
	return network.Owner{Contract: ipam.Contract, Key: ownerPrefix(e.Network) + e.ID}
}
