// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
)

// ipamCapabilities say that Docker is to ask again for all that it has, when it starts. A managed plugin is never activated, and is started with Docker:
// to it, the first time that this is asked is a start.
func (h *handler) ipamCapabilities(ctx context.Context) (any, error) {
	if !h.activated.Load() {
		if _, err := h.activate(ctx); err != nil {
			return nil, err
		}
	}
	return ipamCapabilities{RequiresRequestReplay: true}, nil
}

// addressSpaces names the global one twice where networks are those of a Swarm: its managers ask in the global space, and each node, for the same
// addresses, in the local one.
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

// told is what is said of a pool that is leased: a gateway that it has declared needs not be asked for.
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

// releaseAddress gives one back; none is none.
func (h *handler) releaseAddress(ctx context.Context, q *addressRequest) (any, error) {
	address, err := q.read()
	if err != nil || !address.IsValid() {
		return nil, err
	}
	return nil, h.Leases.ReleaseAddress(ctx, q.PoolID, address)
}

// read reads what is asked of an address; one that is not valid is any.
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

// longestPool bounds the identifier of a pool, in bytes: that of a pool of ours is shorter.
const longestPool = 512

// checkPool is the error of what is no identifier of a pool.
func checkPool(id string) error {
	if id == "" || len(id) > longestPool {
		return wrong("PoolID", "must be what RequestPool has answered")
	}
	return nil
}

// readSubnet reads a subnet; one that is not valid is any. Docker takes 0.0.0.0/0 and ::/0 for any, too.
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
