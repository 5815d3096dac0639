// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// given is an allocation with its pool, which is nil if it no longer exists.
type given struct {
	network.Allocation
	pool *policy.Pool
}

// follow derives the settings from the endpoint's addresses. Those from Graft's pools have allocations.
func (a *Driver) follow(ctx context.Context, n networkRow, p *plan) error {
	var all []given
	var ways paths
	for _, address := range p.Addresses {
		s, _ := n.subnet(address.Addr())
		if s.leased() && a.options.Leases != nil {
			allocation, pool, err := a.options.Leases.Find(ctx, s.Space, s.Prefix, address.Addr())
			if errors.Is(err, network.ErrNotHeld) {
				return fmt.Errorf("%w: the IPAM driver has not given %s, or it was released", ErrImpossible, address.Addr())
			}
			if err != nil {
				return err
			}
			all = append(all, given{allocation, pool})
			p.leased = append(p.leased, allocation.Owner)
		}
		ways.gateway(s.Gateway)
	}
	if p.subject.Pool == "" && len(all) > 0 {
		p.subject.Pool = all[0].Pool
	}
	if err := p.policy.Permit(ctx, p.subject); err != nil {
		return err
	}
	return p.complete(ctx, n, all, ways)
}

// complete fills in MAC address, VLAN, routes and gateways.
func (p *plan) complete(ctx context.Context, n networkRow, all []given, ways paths) error {
	if err := p.hardware(n, all); err != nil {
		return err
	}
	for _, route := range p.routes {
		ways.route(route)
	}
	if p.profile != nil {
		config, err := p.profile.Config(ctx, p.subject)
		if err != nil {
			return err
		}
		if err := possible(config); err != nil {
			return fmt.Errorf("%w: Docker cannot be given what the profile %s says: %w", ErrImpossible, p.profile.Name, err)
		}
		if p.Name == "" {
			p.Name = config.Interface.Name
		}
		ways.add(config.Routes, 0)
	}
	for _, g := range all {
		if g.pool == nil {
			continue
		}
		config := g.pool.Config(g.Allocation)
		for _, address := range g.Addresses {
			ways.add(config.Routes, address.BitLen())
			for _, gateway := range g.pool.Gateways {
				if gateway.BitLen() == address.BitLen() {
					ways.gateway(gateway)
				}
			}
		}
	}
	ways.within(n.Network, p.Addresses)
	p.Routes, p.Gateways = ways.routes, ways.gateways
	return nil
}

// add adds the routes of a family, or of both if bits is 0. Unsupported routes were reported when the network
// was created.
func (p *paths) add(routes []device.Route, bits int) {
	for _, r := range routes {
		route, err := routeOf(r)
		if err == nil && (bits == 0 || route.Destination.Addr().BitLen() == bits) {
			p.route(route)
		}
	}
}

// hardware sets MAC address and VLAN: those of the request, or else of the allocations.
func (p *plan) hardware(n networkRow, all []given) error {
	bound, err := boundTo(all)
	if err != nil {
		return err
	}
	for _, g := range all {
		if len(p.MAC) == 0 && !p.shares {
			p.MAC = g.HardwareAddr()
		}
		if p.Trunk != "" && p.VLAN == 0 {
			p.VLAN = g.VLANID()
		}
	}
	switch {
	case len(bound) > 0 && p.shares:
		return fmt.Errorf("%w: the cloud has given the MAC address %s, and all endpoints of an ipvlan have that of their parent", ErrImpossible, bound)
	case len(bound) > 0 && len(p.Asked.MAC) > 0 && !bytes.Equal(p.Asked.MAC, bound):
		return fmt.Errorf("%w: the MAC address %s is asked for, and the cloud has given %s", ErrImpossible, p.Asked.MAC, bound)
	case len(bound) > 0:
		p.MAC = bound
	case len(p.MAC) == 0 && !p.shares:
		p.MAC = derivedMAC(p.Network, p.ID)
	}
	if n.Link.Kind == link.VLAN && p.VLAN == 0 {
		return fmt.Errorf("%w: a network of kind vlan needs the option vlan, a pool that has VLANs, or the option vlan of each endpoint", ErrImpossible)
	}
	return nil
}

// boundTo returns the MAC address to which a cloud bound the addresses, or nil. It fails for different ones,
// because an interface has one MAC address.
func boundTo(all []given) (network.HardwareAddr, error) {
	var bound network.HardwareAddr
	for _, g := range all {
		by := g.Binding.MAC
		if len(by) > 0 && len(bound) > 0 && !bytes.Equal(by, bound) {
			return nil, fmt.Errorf("%w: the cloud has given the addresses to two MAC addresses, %s and %s: one profile with both families and --ipam-driver null "+
				"asks for one", ErrImpossible, bound, by)
		}
		if len(by) > 0 {
			bound = by
		}
	}
	return bound, nil
}

// own allocates addresses for an endpoint from the first pool of the profile that is not exhausted.
func (a *Driver) own(ctx context.Context, n networkRow, p *plan, row endpointRow) (endpointRow, error) {
	var empty []string
	for _, pool := range p.profile.Pools {
		if len(p.wanted) > 0 && !has(pool, p.wanted) {
			continue
		}
		allocation, err := a.allocate(ctx, p, pool)
		if errors.Is(err, network.ErrExhausted) {
			empty = append(empty, err.Error())
			continue
		}
		if err != nil {
			return row, err
		}
		return a.owned(ctx, n, p, row, given{allocation, pool})
	}
	if len(empty) == 0 {
		return row, fmt.Errorf("%w: no pool of the profile %s has %s", network.ErrOutside, p.profile.Name, joined(p.wanted))
	}
	return row, fmt.Errorf("%w: the profile %s has nothing left: %s", network.ErrExhausted, p.profile.Name, strings.Join(empty, "; "))
}

// has reports whether all addresses are in the pool's subnets. A pool without subnets may have any.
func has(pool *policy.Pool, addresses []netip.Addr) bool {
	for _, address := range addresses {
		in := len(pool.Subnets) == 0
		for _, subnet := range pool.Subnets {
			in = in || subnet.Prefix.Contains(address)
		}
		if !in {
			return false
		}
	}
	return true
}

// allocate checks rules and quotas and allocates.
func (a *Driver) allocate(ctx context.Context, p *plan, pool *policy.Pool) (network.Allocation, error) {
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
		Holder: holderOf(p.Endpoint), Kin: kinOf(p.Endpoint.Network),
	}
	r.Holder.Node = a.options.Node
	if p.Trunk != "" && p.VLAN == 0 {
		r.Trunk = network.Trunk{Node: a.options.Node}
	}
	got, err := a.options.Service.Allocate(ctx, r)
	if err != nil {
		return got, fmt.Errorf("allocating from the pool %s: %w", pool.Name, err)
	}
	return got, nil
}

// owned stores the allocation in the endpoint.
func (a *Driver) owned(ctx context.Context, n networkRow, p *plan, row endpointRow, g given) (endpointRow, error) {
	for _, text := range g.pool.Config(g.Allocation).Interface.Addresses {
		address, err := device.ParsePrefix(text)
		if err != nil {
			return row, err
		}
		if err := n.gives(address.Addr()); err != nil {
			return row, err
		}
		p.Addresses = append(p.Addresses, address)
	}
	if err := p.complete(ctx, n, []given{g}, paths{}); err != nil {
		return row, err
	}
	row.Endpoint = p.Endpoint
	return row, a.endpoints.put(ctx, row.key(), row)
}
