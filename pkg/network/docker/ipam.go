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
func (h *handler) ipamCapabilities(ctx context.Context) (any, error) {
	if !h.activated.Load() {
		if _, err := h.activate(ctx); err != nil {
			return nil, err
		}
	}
	return ipamCapabilities{RequiresRequestReplay: true}, nil
}

// addressSpaces returns the names of the address spaces. With global scope, the global space is also the local
// one: Swarm's managers use the global space, and the nodes the local one for the same addresses.
func (h *handler) addressSpaces(context.Context) (any, error) {
	local := ipam.LocalSpace
	if h.Scope == ScopeGlobal {
		local = ipam.GlobalSpace
	}
	return addressSpaces{LocalDefaultAddressSpace: local, GlobalDefaultAddressSpace: ipam.GlobalSpace}, nil
}

func (h *handler) requestPool(ctx context.Context, q *poolRequest) (any, error) {
	r := ipam.PoolRequest{Space: q.AddressSpace, Options: q.Options, Six: q.V6}
	var err error
	if r.Subnet, err = readSubnet("Pool", q.Pool); err != nil {
		return nil, err
	}
	if r.Within, err = readSubnet("SubPool", q.SubPool); err != nil {
		return nil, err
	}
	leased, err := h.Leases.RequestPool(ctx, r)
	if err != nil {
		return nil, err
	}
	return poolResponse{PoolID: leased.ID, Pool: leased.Prefix.String(), Data: told(leased)}, nil
}

// told returns the data of a leased pool. Docker need not request a gateway that it contains.
func told(leased ipam.Pool) map[string]string {
	if !leased.Gateway.IsValid() {
		return nil
	}
	return map[string]string{labelGateway: netip.PrefixFrom(leased.Gateway, leased.Prefix.Bits()).String()}
}

func (h *handler) releasePool(ctx context.Context, q *poolRequest) (any, error) {
	if err := checkPool(q.PoolID); err != nil {
		return nil, err
	}
	return nil, h.Leases.ReleasePool(ctx, q.PoolID)
}

func (h *handler) requestAddress(ctx context.Context, q *addressRequest) (any, error) {
	address, err := q.read()
	if err != nil {
		return nil, err
	}
	given, err := h.Leases.RequestAddress(ctx, q.PoolID, address, q.Options)
	if err != nil {
		return nil, err
	}
	return addressResponse{Address: given.String()}, nil
}

// releaseAddress releases an address. It ignores an empty one.
func (h *handler) releaseAddress(ctx context.Context, q *addressRequest) (any, error) {
	address, err := q.read()
	if err != nil || !address.IsValid() {
		return nil, err
	}
	return nil, h.Leases.ReleaseAddress(ctx, q.PoolID, address)
}

// read decodes the address of a request, or the zero Addr for any address.
func (q *addressRequest) read() (netip.Addr, error) {
	if err := checkPool(q.PoolID); err != nil {
		return netip.Addr{}, err
	}
	if q.Address == "" || q.Address == nilAddress {
		return netip.Addr{}, nil
	}
	address, err := netip.ParseAddr(q.Address)
	if err != nil {
		prefix, wrongPrefix := netip.ParsePrefix(q.Address)
		if wrongPrefix != nil {
			return address, wrong("Address", "must be an address, such as %s", example(32).Addr())
		}
		address = prefix.Addr()
	}
	if address.Zone() != "" {
		return address, wrong("Address", "must be an address without a zone")
	}
	return address.Unmap(), nil
}

// longestPool limits the identifier of a pool, in bytes. Identifiers of this driver are shorter.
const longestPool = 512

// checkPool returns an error for an invalid pool identifier.
func checkPool(id string) error {
	if id == "" || len(id) > longestPool {
		return wrong("PoolID", "must be what RequestPool has answered")
	}
	return nil
}

// readSubnet parses a subnet, or returns the zero Prefix for any. Docker also sends 0.0.0.0/0 and ::/0 for any.
func readSubnet(field, text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, wrong(field, "must be a subnet, such as %s", example(32).Masked())
	}
	if prefix.Addr().IsUnspecified() && prefix.Bits() == 0 {
		return netip.Prefix{}, nil
	}
	return prefix.Masked(), nil
}
