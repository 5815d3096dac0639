// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
)

// several is in place of the network of a lease of which the client has named two, so that nobody knows. It is no identifier.
const several = "*"

// Known notes that the client has named a network that has a subnet: the lease of the subnet is that network's, until the client asks for it again, as
// it does when it has started, or when it has forgotten the network and makes another one. Only of what such a network has not is known that nobody has
// it. To others the lease is in use from now on, though no address of it was asked for. What is no lease, or that of a shared space, is let pass.
func (l *Driver) Known(ctx context.Context, space string, subnet netip.Prefix, network string) error {
	if space != l.local.name {
		return nil
	}
	if noted, is := l.networks.Load(subnet); is && noted == network {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for range attempts {
		p, on, err := l.of(ctx, l.local, subnet)
		if err != nil || !on {
			return err
		}
		was := p
		if p.Used = true; p.Network == "" {
			p.Network = network
		} else if p.Network != network {
			p.Network = several
		}
		if p.Used != was.Used || p.Network != was.Network {
			err = l.put(ctx, l.local, p)
		}
		if err == nil {
			l.networks.Store(subnet, p.Network)
		}
		if !errors.Is(err, record.ErrStale) {
			return err
		}
	}
	return record.ErrStale
}

// of finds the lease of a subnet: that of the pool which has it by now, or else of the one that had it.
func (l *Driver) of(ctx context.Context, s *space, subnet netip.Prefix) (Pool, bool, error) {
	if pool := l.options.Policy().PoolOf(subnet); pool != nil {
		if p, on, err := s.table.Get(ctx, s.id(pool.Name, subnet)); err != nil || on {
			return p, on, err
		}
	}
	leases, err := s.all(ctx)
	p, on := onLease(leases, subnet, nil)
	return p, on, err
}

// nobody says whether it is known that nobody has an address of a lease: the client has named its network since it asked for it last, that is there, and
// has it not. A network that is there alone says nothing: the client may have forgotten it, and made something else of the lease. has says that
// somebody does have it.
func (l *Driver) nobody(ctx context.Context, s *space, p Pool, subnet netip.Prefix, address netip.Addr) (nobody, has bool, err error) {
	there, has, err := l.options.Knows(ctx, p.Network, s.name, subnet, address)
	return there && !has && p.Network != "" && p.Network != several, has, err
}
