// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// Config returns the settings of the device for an allocation of the pool: its addresses with the lengths of their
// subnets, its MAC address, and the routes of the pool and the cloud. The cloud's routers become default routes if the
// pool has none of the family.
func (p *Pool) Config(a network.Allocation) device.Config {
	c := device.Config{Routes: slices.Clone(p.Routes), Rules: slices.Clone(p.Rules), Neighbors: slices.Clone(p.Neighbors)}
	if p.MTU != nil {
		mtu := *p.MTU
		c.Interface.MTU = &mtu
	}
	for _, address := range a.Addresses {
		c.Interface.Addresses = append(c.Interface.Addresses, p.interfaceAddress(a.Binding, address).String())
	}
	if mac := a.HardwareAddr(); len(mac) > 0 {
		text := mac.String()
		c.Interface.HardwareAddr = &text
	}
	for _, route := range a.Binding.Routes {
		c.Routes = append(c.Routes, interfaceRoute(a.Binding, route))
	}
	for _, gateway := range a.Binding.Gateways {
		everything := netip.PrefixFrom(anyAddress(gateway), 0).String()
		if !slices.ContainsFunc(c.Routes, func(r device.Route) bool { return r.Destination == everything }) {
			c.Routes = append(c.Routes, device.Route{Destination: everything, Gateway: gateway.String()})
		}
	}
	return c
}

// scopeLink is that of a route without a gateway.
const scopeLink = 253

// interfaceRoute returns a route of the cloud. One without a gateway uses the router of its family, as in CNI, or the
// link.
func interfaceRoute(b network.Binding, route network.Route) device.Route {
	added := device.Route{Destination: route.Destination.String()}
	gateway := route.Gateway
	for _, router := range b.Gateways {
		if !gateway.IsValid() && router.BitLen() == route.Destination.Addr().BitLen() {
			gateway = router
		}
	}
	if gateway.IsValid() {
		added.Gateway = gateway.String()
	} else {
		added.Scope = scopeLink
	}
	return added
}

// interfaceAddress returns an address with the length of its subnet in the cloud or the pool. An address without a
// subnet, which was removed from the pool, is a host.
func (p *Pool) interfaceAddress(b network.Binding, address netip.Addr) netip.Prefix {
	for _, chosen := range b.Addresses {
		if chosen.Addr() == address {
			return chosen
		}
	}
	for _, subnet := range p.Subnets {
		if subnet.Prefix.Contains(address) {
			return netip.PrefixFrom(address, subnet.Prefix.Bits())
		}
	}
	return netip.PrefixFrom(address, address.BitLen())
}

// anyAddress returns the unspecified address of the same family.
func anyAddress(of netip.Addr) netip.Addr {
	if of.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}
