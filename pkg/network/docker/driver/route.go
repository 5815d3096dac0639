// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// The scopes that a route with or without a gateway implies: universe and link.
const (
	scopeUniverse = 0
	scopeLink     = 253
)

// mainTable is the default routing table.
const mainTable = 254

// routeOf converts a route to Docker's form, which has a destination and a gateway only. It fails for other
// settings.
func routeOf(r device.Route) (network.Route, error) {
	switch {
	case r.Table != 0 && r.Table != mainTable:
		return network.Route{}, errors.New("table is none of what its contract has")
	case r.Source != "":
		return network.Route{}, errors.New("source is none of what its contract has")
	case r.Scope != scopeUniverse && (r.Scope != scopeLink || r.Gateway != ""):
		return network.Route{}, errors.New("scope is none of what its contract has")
	}
	destination, err := device.ParsePrefix(r.Destination)
	if err != nil {
		return network.Route{}, err
	}
	made := network.Route{Destination: destination.Masked()}
	if r.Gateway != "" {
		made.Gateway, err = device.ParseAddr(r.Gateway)
	}
	return made, err
}

// parseRoutes parses the option routes: destinations, each with a gateway or over the link.
func parseRoutes(text string) ([]network.Route, error) {
	var routes []network.Route
	for item := range strings.SplitSeq(text, ",") {
		to, by, gated := strings.Cut(strings.TrimSpace(item), "=")
		prefix, err := netip.ParsePrefix(to)
		route := network.Route{Destination: prefix.Masked()}
		if err == nil && gated {
			route.Gateway, err = parseAddress(by)
		}
		if err != nil || gated && route.Gateway.BitLen() != prefix.Addr().BitLen() {
			return nil, errors.New("must be destinations, each with its gateway or none, with commas between them, such as 10.0.0.0/8=192.0.2.1,198.51.100.0/24")
		}
		routes = append(routes, route)
	}
	return routes, nil
}

// paths are the routes and gateways of an endpoint.
type paths struct {
	routes   []network.Route
	gateways []netip.Addr
}

// gateway adds a gateway unless there is one of its family.
func (p *paths) gateway(address netip.Addr) {
	same := func(other netip.Addr) bool { return other.BitLen() == address.BitLen() }
	if address.IsValid() && !slices.ContainsFunc(p.gateways, same) {
		p.gateways = append(p.gateways, address)
	}
}

// route adds a route. A default route with a gateway sets the gateway. The first of two routes to one
// destination counts.
func (p *paths) route(r network.Route) {
	if r.Destination.Bits() == 0 && r.Gateway.IsValid() {
		p.gateway(r.Gateway)
		return
	}
	same := func(other network.Route) bool { return other.Destination == r.Destination }
	if !slices.ContainsFunc(p.routes, same) {
		p.routes = append(p.routes, r)
	}
}

// within removes the routes and gateways that the network or the families of the addresses do not allow: an
// internal network has none to the outside, and an isolated one only explicit ones. An ipvlan in an l3 mode has
// a default route over the link instead of a gateway.
func (p *paths) within(n Network, addresses []netip.Prefix) {
	has := func(bits int) bool {
		return slices.ContainsFunc(addresses, func(a netip.Prefix) bool { return a.Addr().BitLen() == bits })
	}
	p.routes = slices.DeleteFunc(p.routes, func(r network.Route) bool {
		everything := r.Destination.Bits() == 0
		return !has(r.Destination.Addr().BitLen()) || everything && (n.Internal || n.Isolated) || n.Internal && r.Gateway.IsValid()
	})
	p.gateways = slices.DeleteFunc(p.gateways, func(g netip.Addr) bool { return !has(g.BitLen()) || n.Internal || n.Isolated })
	if !n.routes() || n.Internal || n.Isolated {
		return
	}
	p.gateways = nil
	for _, everything := range []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)} {
		if has(everything.Addr().BitLen()) {
			p.route(network.Route{Destination: everything})
		}
	}
}

// routes reports whether the network's links route by address without neighbor discovery, so that there is no
// gateway.
func (n Network) routes() bool {
	return n.Link.Kind == link.Ipvlan && (n.Link.Mode == "l3" || n.Link.Mode == "l3s")
}

// NeedsGateway reports whether the network uses a gateway address: for the bridge, or as way out.
func (n Network) NeedsGateway() bool {
	return !n.Isolated && !n.routes() && (!n.Internal || !n.Outside)
}
