// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

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

// beyondDocker reports whether a route has settings that Docker does not support.
func beyondDocker(r device.Route) bool {
	_, ok := routeOf(r)
	return !ok
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
