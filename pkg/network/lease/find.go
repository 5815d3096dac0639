// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// Find is the allocation of an address that came out of a lease in a space, and its pool; nil when the policy has it no more. The error wraps
// network.ErrNotHeld when there is none, as of a gateway that the pool declares.
func (l *Leases) Find(ctx context.Context, space string, address netip.Addr) (network.Allocation, *policy.Pool, error) {
	s, err := l.space(space)
	if err != nil {
		return network.Allocation{}, nil, fmt.Errorf("%w: %w", network.ErrNotHeld, err)
	}
	address = address.Unmap()
	leases, err := s.all(ctx)
	if err != nil {
		return network.Allocation{}, nil, err
	}
	for id, p := range leases {
		if !p.Prefix.Contains(address) {
			continue
		}
		a, err := l.options.Service.Get(ctx, s.owner(id, address))
		if errors.Is(err, network.ErrNotHeld) || err == nil && a.State == network.Releasing {
			continue
		}
		return a, l.options.Policy().Pool(p.Pool), err
	}
	return network.Allocation{}, nil, fmt.Errorf("%w: %s came out of no pool on lease", network.ErrNotHeld, address)
}

// Describe says whom an address is for that came out of a lease in a space, for people: kind, namespace, name and device of the holder are noted. The
// error wraps network.ErrNotHeld.
func (l *Leases) Describe(ctx context.Context, space string, address netip.Addr, of network.Holder) error {
	a, _, err := l.Find(ctx, space, address)
	if err != nil {
		return err
	}
	return l.options.Service.Describe(ctx, a.Owner, func(h *network.Holder) {
		h.Kind, h.Namespace, h.Name, h.Device = of.Kind, of.Namespace, of.Name, of.Device
	})
}
