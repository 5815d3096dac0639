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

// several replaces the network of a lease for which the client named two networks. It is not a valid
// identifier.
const several = "*"

// Known records that the client named a network for a subnet's lease. The record is valid until the client
// requests the lease again, after its restart or because it forgot the network and creates another. Only such a
// record proves that addresses that the network does not have are unused. It also marks the lease as used.
// Known ignores subnets without a lease and shared spaces.
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

// of returns the lease of a subnet: that of the pool that has the subnet now, or else of its former pool.
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

// nobody reports whether an address of a lease is certainly unused: the client has named the lease's network
// since it last requested the lease, that network exists, and does not have the address. An existing network
// that was not named proves nothing, because the client may have forgotten it. has reports whether the address
// is certainly in use.
func (l *Driver) nobody(ctx context.Context, s *space, p Pool, subnet netip.Prefix, address netip.Addr) (nobody, has bool, err error) {
	there, has, err := l.options.Knows(ctx, p.Network, s.name, subnet, address)
	return there && !has && p.Network != "" && p.Network != several, has, err
}
