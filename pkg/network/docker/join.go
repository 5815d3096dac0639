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

// defaultPrefix is the default prefix of interface names.
const defaultPrefix = "eth"

// longestSandbox limits the path of a sandbox, in bytes (PATH_MAX).
const longestSandbox = 4096

// join returns the interface to move into the sandbox, with its routes.
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

// joinResponseOf returns the response for an endpoint that has joined. Without a gateway, Docker adds an
// interface on a bridge of its own, unless DisableGatewayService is set. It is set for networks with another
// way out, such as a route over the link, which Docker does not recognize as one.
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

// programConnectivity rejects published ports, because containers are reachable by their own addresses.
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

// revokeConnectivity does nothing, because no ports are published.
func (h *handler) revokeConnectivity(_ context.Context, q *endpointRequest) (any, error) {
	return nil, q.checkIDs()
}
