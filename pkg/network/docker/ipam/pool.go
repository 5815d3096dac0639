// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// PoolRequest is the request for a lease.
type PoolRequest struct {
	Space string
	// Subnet is the requested subnet. The zero Prefix allows any; with the unspecified address, only its length
	// counts. Addresses are chosen from Within, or from all of Subnet if it is not valid.
	Subnet, Within netip.Prefix
	// Options are profile and pool. Options with the prefix com.docker. are ignored.
	Options map[string]string
	// Six selects IPv6 if no subnet is given.
	Six bool
}

// named reports whether a subnet is given.
func (r PoolRequest) named() bool { return r.Subnet.IsValid() && !r.Subnet.Addr().IsUnspecified() }

// attempts limits retries after changes by other processes.
const attempts = 8

// RequestPool leases a pool: the one with the given subnet, or the first unleased one of the profile. A lease
// from before the client's restart is returned again if its subnet is given; in the global space, any lease is.
// Errors wrap ErrRequest, policy.ErrDenied, network.ErrTaken, ErrOutside or ErrExhausted.
func (l *Driver) RequestPool(ctx context.Context, r PoolRequest) (Pool, error) {
	s, err := l.space(r.Space)
	if err != nil {
		return Pool{}, err
	}
	if err := checkOptions(r.Options); err != nil {
		return Pool{}, err
	}
	if r.Within.IsValid() && !r.named() {
		return Pool{}, fmt.Errorf("%w: a range is for a subnet that is named (--subnet)", ErrRequest)
	}
	r.Subnet, r.Within = r.Subnet.Masked(), r.Within.Masked()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for range attempts {
		p, err := l.lease(ctx, s, r)
		if !errors.Is(err, record.ErrStale) {
			return p, err
		}
	}
	return Pool{}, fmt.Errorf("%w: other processes change the leases at the same time", network.ErrUnavailable)
}

// lease makes one attempt to lease a pool.
func (l *Driver) lease(ctx context.Context, s *space, r PoolRequest) (Pool, error) {
	last, err := l.last(ctx)
	if err != nil {
		return Pool{}, err
	}
	leases, err := s.all(ctx)
	if err != nil {
		return Pool{}, err
	}
	if !r.named() {
		return l.any(ctx, s, r, leases, last.Activation)
	}
	pool, profile, refused := l.find(r)
	old, on := onLease(leases, r.Subnet, pool)
	if !on && refused != nil {
		return Pool{}, refused
	}
	if on && !s.shared && old.Activation == last.Activation && !l.lost(old) {
		return Pool{}, fmt.Errorf("%w: %s of the pool %s is on lease to another network already", network.ErrTaken, old.Prefix, old.Pool)
	}
	if !on {
		return l.begin(ctx, s, r, candidate{pool, r.Subnet, profile}, leases, last.Activation)
	}
	return l.confirm(ctx, s, r, old, pool, leases, last.Activation)
}

// lost reports whether the client presumably never received a lease: the process was killed before the answer,
// or the write was uncertain, and the lease is unused since.
func (l *Driver) lost(p Pool) bool {
	return !p.Used && (l.untold[p.ID] || !strings.HasPrefix(p.Term, l.life+"-"))
}

// onLease returns the lease of a subnet in a pool, or in any pool if it is nil.
func onLease(leases map[string]Pool, subnet netip.Prefix, pool *policy.Pool) (Pool, bool) {
	for _, id := range slices.Sorted(maps.Keys(leases)) {
		if p := leases[id]; p.Prefix == subnet && (pool == nil || p.Pool == pool.Name) {
			return p, true
		}
	}
	return Pool{}, false
}

// any leases the subnet that matches the lease of the other family, or the first unleased one, or one that the
// client never received.
func (l *Driver) any(ctx context.Context, s *space, r PoolRequest, leases map[string]Pool, activation int) (Pool, error) {
	c, err := choose(l.options.Policy(), r.Options)
	if err != nil {
		return Pool{}, err
	}
	if c.free {
		return Pool{}, fmt.Errorf("%w: say which addresses: --ipam-opt profile=NAME, --ipam-opt pool=NAME, or --subnet", ErrRequest)
	}
	subnets := candidates(c, r)
	if len(subnets) == 0 {
		return Pool{}, noSubnet(c, r)
	}
	for _, of := range append(l.siblings(s, c, r, subnets, leases), subnets...) {
		if _, on := leases[s.id(of.pool.Name, of.prefix)]; !on {
			return l.begin(ctx, s, r, of, leases, activation)
		}
	}
	now := l.options.Clock.Now()
	for _, of := range subnets {
		old := leases[s.id(of.pool.Name, of.prefix)]
		if l.lost(old) && old.Activation == activation && now.Sub(old.Since) >= l.options.Grace {
			return l.begin(ctx, s, r, of, leases, activation)
		}
	}
	return Pool{}, fmt.Errorf("%w: all subnets of %s are on lease (%d%s): remove a network, or name the subnet of one that is no more with --subnet",
		network.ErrExhausted, c.what, len(subnets), s.networksOf(subnets, leases))
}

// begin leases a pool that is not leased.
func (l *Driver) begin(ctx context.Context, s *space, r PoolRequest, of candidate, leases map[string]Pool, activation int) (Pool, error) {
	pool, prefix := of.pool, of.prefix
	if err := within(pool, prefix, r.Within); err != nil {
		return Pool{}, err
	}
	p := Pool{
		ID: s.id(pool.Name, prefix), Space: s.name, Pool: pool.Name, Prefix: prefix, Within: r.Within, Gateway: gatewayOf(pool, prefix),
		Profile: of.profile, Options: mine(r.Options), Activation: activation, Term: l.unique(), Since: l.options.Clock.Now().UTC(),
	}
	if err := l.options.Policy().Permit(ctx, l.subject(p)); err != nil {
		return Pool{}, err
	}
	err := l.replace(ctx, s, p, leases)
	if err != nil && !errors.Is(err, record.ErrStale) {
		l.untold[p.ID] = true
	}
	return p, err
}

// confirm renews a lease of the same client.
func (l *Driver) confirm(
	ctx context.Context, s *space, r PoolRequest, p Pool, pool *policy.Pool, leases map[string]Pool, activation int,
) (Pool, error) {
	if !s.shared || r.Within.IsValid() {
		if err := within(pool, p.Prefix, r.Within); err != nil {
			return Pool{}, err
		}
		p.Within = r.Within
	}
	if users := mine(r.Options); users != nil {
		p.Profile, p.Options = users[OptionProfile], users
	}
	if !s.shared {
		p.Network = "" // it may belong to another network now
		if p.Activation = activation; l.lost(p) {
			p.Term, p.Since = l.unique(), l.options.Clock.Now().UTC()
		}
	}
	return p, l.replace(ctx, s, p, leases)
}

// replace writes a lease if its row is unchanged since found was read. Otherwise the error wraps
// record.ErrStale.
func (l *Driver) replace(ctx context.Context, s *space, p Pool, found map[string]Pool) error {
	stands, on, err := s.table.Get(ctx, p.ID)
	if err != nil {
		return fmt.Errorf("reading the lease of %s: %w", p.Prefix, err)
	}
	if was, there := found[p.ID]; on != there || !reflect.DeepEqual(stands, was) {
		return record.ErrStale
	}
	l.networks.Delete(p.Prefix)
	if err := l.put(ctx, s, p); err != nil {
		return err
	}
	delete(l.untold, p.ID)
	return nil
}

func (l *Driver) put(ctx context.Context, s *space, p Pool) error {
	if err := s.table.Put(ctx, p.ID, p); err != nil {
		return fmt.Errorf("writing the lease of %s: %w", p.Prefix, err)
	}
	return nil
}

// ReleasePool ends a lease. It ignores an unknown one. The sweep releases addresses that were not released
// before.
func (l *Driver) ReleasePool(ctx context.Context, id string) error {
	s, err := l.spaceOf(id)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for range attempts {
		if err = l.end(ctx, s, id); !errors.Is(err, record.ErrStale) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("ending the lease of %s: %w", id, err)
	}
	return nil
}

// end ends the lease of this node. In the global space, the lease ends with its last user.
func (l *Driver) end(ctx context.Context, s *space, id string) error {
	if _, prefix, is := s.parse(id); is && !s.shared {
		l.networks.Delete(prefix)
	}
	p, on, err := s.table.Get(ctx, id)
	if broken := (*ledger.BrokenRow)(nil); err != nil && !errors.As(err, &broken) || err == nil && !on {
		return err
	}
	if s.shared && err == nil {
		if p.Users = l.leave(p.Users); len(p.Users) > 0 {
			return s.table.Put(ctx, id, p)
		}
	}
	return s.table.Delete(ctx, id)
}
