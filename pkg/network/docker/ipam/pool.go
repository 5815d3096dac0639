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

// PoolRequest is what a client wants to lease.
type PoolRequest struct {
	Space string
	// Subnet is the one that is wanted; not valid: the choice is free; of the address 0: only its length is wanted. Within is the part of it that
	// addresses are chosen in; not valid: all of it.
	Subnet, Within netip.Prefix
	// Options are profile= and pool=; those of com.docker.* are let pass.
	Options map[string]string
	// Six wants IPv6 where no subnet is named.
	Six bool
}

// named says whether a subnet is.
func (r PoolRequest) named() bool { return r.Subnet.IsValid() && !r.Subnet.Addr().IsUnspecified() }

// attempts bounds how often it is begun anew what another process has changed meanwhile.
const attempts = 8

// RequestPool leases a pool: the one that has the subnet, or the first one of the profile that is not on lease. One that was leased before the client
// has started is given again when its subnet is asked for; so is, in the global space, any. The errors wrap ErrRequest, policy.ErrDenied, network.ErrTaken,
// ErrOutside or ErrExhausted.
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

// lease leases a pool, once.
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

// lost says whether the client was never told of a lease, as far as is known: this program was killed before it could answer, or the ledger gave no
// answer, and nobody has used it since then.
func (l *Driver) lost(p Pool) bool {
	return !p.Used && (l.untold[p.ID] || !strings.HasPrefix(p.Term, l.life+"-"))
}

// onLease finds the lease of a subnet: that of the pool which has it by now, or where none has, of the one that had it.
func onLease(leases map[string]Pool, subnet netip.Prefix, pool *policy.Pool) (Pool, bool) {
	for _, id := range slices.Sorted(maps.Keys(leases)) {
		if p := leases[id]; p.Prefix == subnet && (pool == nil || p.Pool == pool.Name) {
			return p, true
		}
	}
	return Pool{}, false
}

// any leases what belongs to the lease of the other family, or the first pool that is not on lease, and else one that the client was never told of.
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

// begin leases a pool that is not on lease.
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

// confirm leases a pool again that is on lease to the same client.
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
		p.Network = "" // it may be another one's by now
		if p.Activation = activation; l.lost(p) {
			p.Term, p.Since = l.unique(), l.options.Clock.Now().UTC()
		}
	}
	return p, l.replace(ctx, s, p, leases)
}

// replace writes a lease in place of what was found under its identifier, if that is still there; else the error wraps record.ErrStale.
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

// ReleasePool ends a lease; one that there is not is no error. Addresses that were not given back before are freed later.
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

// end ends the lease of this node, and in the global space the lease itself with the last of its users.
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
