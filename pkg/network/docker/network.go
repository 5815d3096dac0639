// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// activate returns the plugin's capabilities and starts a new activation of the IPAM driver: Docker requests
// its addresses again. An error must have a status other than 200, because Docker would accept any body as
// manifest.
func (h *handler) activate(ctx context.Context) (any, error) {
	if err := h.Leases.Activate(ctx); err != nil {
		return nil, &wire.Problem{Status: http.StatusServiceUnavailable, Message: "the ledger cannot be written; the log of the server says why", Cause: err}
	}
	h.activated.Store(true)
	return manifest{Implements: []string{"NetworkDriver", "IpamDriver"}}, nil
}

func (h *handler) capabilities(context.Context) (any, error) {
	return capabilities{Scope: h.Scope, ConnectivityScope: h.Connectivity, GwAllocChecker: true}, nil
}

// checkGateways returns the families for which Docker need not allocate a gateway address. It also validates
// the options, before an address is allocated.
func (h *handler) checkGateways(ctx context.Context, q *networkRequest) (any, error) {
	n, err := q.network()
	if err != nil {
		return nil, err
	}
	n, err = h.Networks.Check(ctx, n)
	if err != nil {
		return nil, err
	}
	skip := needless(n)
	return gatewayResponse{SkipIPv4: skip, SkipIPv6: skip}, nil
}

// needless reports whether Docker need not allocate a gateway that its user did not name. For gateways outside
// of the machine, Docker cannot know the router's address. Docker's own macvlan and ipvlan behave the same way.
func needless(n driver.Network) bool { return n.Outside || !n.NeedsGateway() }

// allocateNetwork is called once per network by a manager of a Swarm, and again by each new leader. The
// subnets' owners are known only in CreateNetwork on each node.
func (h *handler) allocateNetwork(ctx context.Context, q *allocationRequest) (any, error) {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return nil, err
	}
	chosen, err := h.Networks.Allocate(ctx, driver.Network{ID: q.NetworkID, Options: q.Options})
	if err != nil {
		return nil, err
	}
	return allocationResponse{Options: chosen}, nil
}

// freeNetwork does nothing, because allocateNetwork stores nothing.
func (h *handler) freeNetwork(_ context.Context, q *networkRequest) (any, error) {
	return nil, checkID("NetworkID", q.NetworkID)
}

func (h *handler) createNetwork(ctx context.Context, q *networkRequest) (any, error) {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return nil, err
	}
	n, err := q.network()
	if err != nil {
		return nil, err
	}
	if err := h.known(ctx, n); err != nil {
		return nil, err
	}
	return nil, h.Networks.CreateNetwork(ctx, n)
}

// known records the subnets of a network in the leases. It must run before the network is created, so that
// leases requested in the meantime belong to another network.
func (h *handler) known(ctx context.Context, n driver.Network) error {
	for _, s := range n.Subnets {
		if err := h.Leases.Known(ctx, s.Space, s.Prefix, n.ID); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) deleteNetwork(ctx context.Context, q *networkRequest) (any, error) {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return nil, err
	}
	return nil, h.Networks.DeleteNetwork(ctx, q.NetworkID)
}
