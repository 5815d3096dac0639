// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
)

// ipamCapabilities tells Docker to request everything again after its restart. Docker never activates a managed
// plugin; its first call of this method counts as activation.
func (h *handler) ipamCapabilities(ctx context.Context, q *request) (any, error) {
	if !h.activated.Load() {
		if _, err := h.activate(ctx, q); err != nil {
			return nil, err
		}
	}
	return fields{"RequiresMACAddress": false, "RequiresRequestReplay": true}, nil
}

// addressSpaces returns the names of the address spaces. With global scope, the global space is also the local
// one: Swarm's managers use the global space, and the nodes the local one for the same addresses.
func (h *handler) addressSpaces(context.Context, *request) (any, error) {
	local := ipam.LocalSpace
	if h.Scope == ScopeGlobal {
		local = ipam.GlobalSpace
	}
	return struct{ LocalDefaultAddressSpace, GlobalDefaultAddressSpace string }{local, ipam.GlobalSpace}, nil
}

func (h *handler) requestPool(ctx context.Context, q *request) (any, error) {
	options, err := q.Options.texts("Options")
	if err != nil {
		return nil, err
	}
	leased, err := h.Leases.RequestPool(ctx, ipam.PoolRequest{
		Space: q.AddressSpace, Options: options, Six: q.V6, Subnet: anySubnet(q.Pool), Within: anySubnet(q.SubPool),
	})
	if err != nil {
		return nil, err
	}
	response := fields{"PoolID": leased.ID, "Pool": leased.Prefix, "Data": nil}
	if leased.Gateway.IsValid() { // Docker need not request it
		response["Data"] = map[string]string{labelGateway: netip.PrefixFrom(leased.Gateway, leased.Prefix.Bits()).String()}
	}
	return response, nil
}

// anySubnet returns the zero Prefix for the subnets that Docker sends for any, 0.0.0.0/0 and ::/0.
func anySubnet(p netip.Prefix) netip.Prefix {
	if p.Addr().IsUnspecified() && p.Bits() == 0 {
		return netip.Prefix{}
	}
	return p
}

func (h *handler) releasePool(ctx context.Context, q *request) (any, error) {
	return nil, h.Leases.ReleasePool(ctx, q.PoolID)
}

func (h *handler) requestAddress(ctx context.Context, q *request) (any, error) {
	options, err := q.Options.texts("Options")
	if err != nil {
		return nil, err
	}
	given, err := h.Leases.RequestAddress(ctx, q.PoolID, q.Address.Addr, options)
	if err != nil {
		return nil, err
	}
	return fields{"Address": given, "Data": nil}, nil
}

// releaseAddress releases an address. It ignores an empty one.
func (h *handler) releaseAddress(ctx context.Context, q *request) (any, error) {
	if !q.Address.IsValid() {
		return nil, nil
	}
	return nil, h.Leases.ReleaseAddress(ctx, q.PoolID, q.Address.Addr)
}
