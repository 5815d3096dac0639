// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// defaultPrefix begins the names of interfaces where the profile says nothing else.
const defaultPrefix = "eth"

// longestSandbox bounds the path of a sandbox, in bytes: that of a path of Linux.
const longestSandbox = 4096

// join says which interface moves into the sandbox, and what is set there.
func (h *handler) join(ctx context.Context, q *endpointRequest) (any, error) {
	if err := q.checkIDs(); err != nil {
		return nil, err
	}
	if q.SandboxKey == "" || len(q.SandboxKey) > longestSandbox {
		return nil, wrong("SandboxKey", "must be the path of a sandbox")
	}
	e, n, err := h.Networks.Join(ctx, q.NetworkID, q.EndpointID, q.SandboxKey)
	if err != nil {
		return nil, err
	}
	return joinResponseOf(n, e), nil
}

// joinResponseOf is what is answered of an endpoint that has joined. Without a gateway Docker would give the sandbox another interface, on a bridge of its
// own, unless it is told not to: so it is for a network that leads outside itself, be it by a route over the link, which Docker does not take for one.
func joinResponseOf(n driver.Network, e driver.Endpoint) joinResponse {
	answer := joinResponse{
		InterfaceName:         interfaceName{SrcName: link.InterfaceName(e.ID), DstPrefix: cmp.Or(n.Prefix, defaultPrefix), DstName: e.Name},
		DisableGatewayService: n.Isolated || n.Outside && len(e.Gateways) == 0,
	}
	for _, gateway := range e.Gateways {
		if gateway.Is4() && answer.Gateway == "" {
			answer.Gateway = gateway.String()
		} else if gateway.Is6() && answer.GatewayIPv6 == "" {
			answer.GatewayIPv6 = gateway.String()
		}
	}
	for _, r := range e.Routes {
		answer.StaticRoutes = append(answer.StaticRoutes, staticRouteOf(r))
	}
	return answer
}

func staticRouteOf(r network.Route) staticRoute {
	route := staticRoute{Destination: r.Destination.String(), RouteType: routeConnected}
	if r.Gateway.IsValid() {
		route.RouteType, route.NextHop = routeNextHop, r.Gateway.String()
	}
	return route
}

func (h *handler) leave(ctx context.Context, q *endpointRequest) (any, error) {
	if err := q.checkIDs(); err != nil {
		return nil, err
	}
	return nil, h.Networks.Leave(ctx, q.NetworkID, q.EndpointID)
}

// programConnectivity refuses to publish ports: containers are reached by their own addresses.
func (h *handler) programConnectivity(_ context.Context, q *endpointRequest) (any, error) {
	if err := q.checkIDs(); err != nil {
		return nil, err
	}
	ports, err := q.Options.published()
	if err != nil {
		return nil, err
	}
	if len(ports) > 0 {
		return nil, cannot(fmt.Sprintf("ports (%s) cannot be published in a network of Graft: leave out -p and -P, and reach the container by its own address, "+
			"or connect it to a network of the driver bridge too", describe(ports)))
	}
	return nil, nil
}

// revokeConnectivity has nothing to take back.
func (h *handler) revokeConnectivity(_ context.Context, q *endpointRequest) (any, error) {
	return nil, q.checkIDs()
}
