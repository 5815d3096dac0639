// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// Find returns the allocation of an address that was leased from a subnet, and its pool, or nil if the policy
// no longer has the pool. The error wraps network.ErrNotHeld if there is no allocation, as for a gateway that
// the pool declares.
func (l *Driver) Find(ctx context.Context, space string, subnet netip.Prefix, address netip.Addr) (network.Allocation, *policy.Pool, error) {
	s, err := l.space(space)
	if err != nil {
		return network.Allocation{}, nil, fmt.Errorf("%w: %w", network.ErrNotHeld, err)
	}
	address, in := address.Unmap(), l.options.Policy()
	a, err := network.Allocation{}, network.ErrNotHeld
	if pool := in.PoolOf(subnet); pool != nil {
		a, err = l.held(ctx, s, s.id(pool.Name, subnet.Masked()), address)
	}
	if errors.Is(err, network.ErrNotHeld) { // the subnet may belong to another pool now
		a, err = l.heldBefore(ctx, s, subnet.Masked(), address)
	}
	return a, in.Pool(a.Pool), err
}

// held returns the allocation of an address of a lease.
func (l *Driver) held(ctx context.Context, s *space, id string, address netip.Addr) (network.Allocation, error) {
	a, err := l.options.Service.Get(ctx, s.owner(id, address))
	if errors.Is(err, network.ErrNotHeld) || err == nil && a.State == network.Releasing {
		return network.Allocation{}, fmt.Errorf("%w: %s came out of no pool on lease", network.ErrNotHeld, address)
	}
	return a, err
}

// heldBefore returns the allocation of an address from any lease with the subnet.
func (l *Driver) heldBefore(ctx context.Context, s *space, subnet netip.Prefix, address netip.Addr) (a network.Allocation, err error) {
	leases, err := s.all(ctx)
	if err != nil {
		return a, err
	}
	err = fmt.Errorf("%w: %s came out of no pool on lease", network.ErrNotHeld, address)
	for id, p := range leases {
		if p.Prefix != subnet {
			continue
		}
		if a, err = l.held(ctx, s, id, address); !errors.Is(err, network.ErrNotHeld) {
			break
		}
	}
	return a, err
}

// Describe sets kind, namespace, name and device of the holder of an allocation. The error wraps
// network.ErrNotHeld.
func (l *Driver) Describe(ctx context.Context, owner network.Owner, of network.Holder) error {
	return l.options.Service.Describe(ctx, owner, func(h *network.Holder) {
		h.Kind, h.Namespace, h.Name, h.Device = of.Kind, of.Namespace, of.Name, of.Device
	})
}
