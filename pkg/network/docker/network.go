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

// activate says what the plugin is. With it the IPAM driver's side begins anew: what Docker asks for from now on by name, it asks for again. An error
// is none of the contract's: a manifest that is not one would be believed.
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

// checkGateways says for which families Docker need not have an address for a gateway, before there are subnets. It finds out, too, what is wrong with
// the options, so that no address is taken for a network that cannot be.
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

// needless says whether a network has no use for a gateway that its user has not named. The routers outside are known to users and pools alone: an
// address that Docker chose would be nobody's. So it is with Docker's own macvlan and ipvlan.
func needless(n driver.Network) bool { return n.Outside || !n.NeedsGateway() }

// allocateNetwork is asked of a manager of a Swarm, once for all nodes, and again by each manager that becomes the leader. It says nothing of whose the
// subnets are: that comes with CreateNetwork, on each node.
func (h *handler) allocateNetwork(ctx context.Context, q *allocationRequest) (any, error) {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return nil, err
	}
	if _, err := subnets(q.IPv4Data, q.IPv6Data); err != nil {
		return nil, err
	}
	chosen, err := h.Networks.Allocate(ctx, driver.Network{ID: q.NetworkID, Options: q.Options})
	if err != nil {
		return nil, err
	}
	return allocationResponse{Options: chosen}, nil
}

func (h *handler) freeNetwork(ctx context.Context, q *networkRequest) (any, error) {
	if err := checkID("NetworkID", q.NetworkID); err != nil {
		return nil, err
	}
	return nil, h.Networks.Free(ctx, q.NetworkID)
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

// known notes that Docker knows a network. That is done before anything is made: what was asked for meanwhile is another network's.
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
