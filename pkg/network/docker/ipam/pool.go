// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// PoolRequest is the request for a lease.
type PoolRequest struct {
	Space string
	// Subnet is the requested subnet. The zero Prefix allows any; with the unspecified address, only its length
	// counts. Addresses are chosen from Within, or from all of Subnet if it is not valid.
	Subnet, Within netip.Prefix
	// Options are profile and pool. Options with the prefix com.docker. are ignored.
	Options map[string]string
	// Six selects IPv6 if no subnet is requested.
	Six bool
}

// named reports whether a subnet is requested.
func (r PoolRequest) named() bool { return r.Subnet.IsValid() && !r.Subnet.Addr().IsUnspecified() }

// matches reports whether a subnet fits the requested one, or its length, or else the family.
func (r PoolRequest) matches(subnet netip.Prefix) bool {
	if r.named() {
		return subnet == r.Subnet
	}
	fits := !r.Subnet.IsValid() || r.Subnet.Bits() == 0 || r.Subnet.Bits() == subnet.Bits()
	return fits && subnet.Addr().Is6() == r.Six
}

// update changes the lease with an identifier. change receives it, or nil if there is none, and returns the new one, or
// nil to delete it. It is called again if another process changes the lease concurrently. The caller holds the mutex.
func (l *Driver) update(ctx context.Context, s *space, id string, change func(*LeasedPool) (*LeasedPool, error)) (LeasedPool, error) {
	var lease LeasedPool
	err := s.table.Update(ctx, id, func(old *LeasedPool) (*LeasedPool, error) {
		next, err := change(old)
		if lease = (LeasedPool{}); next != nil {
			lease = *next
		}
		return next, err
	})
	if err != nil {
		if errors.Is(err, record.ErrUncertain) {
			l.undelivered[id] = true
		}
		return LeasedPool{}, err
	}
	delete(l.undelivered, id)
	return lease, nil
}

// RequestPool leases a pool: the one with the requested subnet, or the first unleased one of the profile. A lease from
// before the client's restart is returned again if its subnet is requested; in the global space, any lease is. Errors
// wrap link.ErrImpossible, policy.ErrDenied, network.ErrTaken, ErrOutside or ErrExhausted.
func (l *Driver) RequestPool(ctx context.Context, r PoolRequest) (LeasedPool, error) {
	s, err := l.space(r.Space)
	if err != nil {
		return LeasedPool{}, err
	}
	if err := checkOptions(r.Options); err != nil {
		return LeasedPool{}, err
	}
	if r.Within.IsValid() && !r.named() {
		return LeasedPool{}, fmt.Errorf("%w: an --ip-range needs a --subnet", link.ErrImpossible)
	}
	r.Subnet, r.Within = r.Subnet.Masked(), r.Within.Masked()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	activation, err := l.activation(ctx)
	if err != nil {
		return LeasedPool{}, err
	}
	subnets, what, err := candidates(l.options.Policy(), r)
	switch {
	case r.named():
		return l.leaseNamed(ctx, s, r, subnets, err, activation)
	case err != nil:
		return LeasedPool{}, err
	default:
		return l.leaseAny(ctx, s, r, subnets, what, activation)
	}
}

// leaseNamed leases the requested subnet, or renews its lease. refused is set if no pool of the policy has the subnet.
func (l *Driver) leaseNamed(ctx context.Context, s *space, r PoolRequest, subnets []candidate, refused error,
	activation int) (LeasedPool, error) {
	known, err := l.leaseOf(ctx, s, r.Subnet)
	if err != nil || known.ID == "" && refused != nil {
		return LeasedPool{}, cmp.Or(err, refused)
	}
	id := known.ID
	var of candidate
	if refused == nil {
		of = subnets[0]
		id = cmp.Or(id, s.id(of.pool.Name, of.prefix))
	}
	return l.update(ctx, s, id, func(old *LeasedPool) (*LeasedPool, error) {
		switch {
		case old == nil && refused != nil:
			return nil, refused
		case old == nil:
			return l.newLease(ctx, s, r, of, activation)
		case !s.shared && old.Activation == activation && !l.isLost(*old):
			return nil, fmt.Errorf("%w: %s of the pool %s is leased to another network", network.ErrTaken, old.Prefix,
				old.Pool)
		default:
			return l.renewed(s, r, *old, of.pool, activation)
		}
	})
}

// leaseAny leases the first unleased subnet, or else the first one that the client never received.
func (l *Driver) leaseAny(ctx context.Context, s *space, r PoolRequest, subnets []candidate, what string,
	activation int) (LeasedPool, error) {
	for _, lost := range []bool{false, true} {
		for _, of := range subnets {
			known, err := l.leaseOf(ctx, s, of.prefix)
			if err != nil {
				return LeasedPool{}, err
			}
			leased := false
			p, err := l.update(ctx, s, cmp.Or(known.ID, s.id(of.pool.Name, of.prefix)), func(old *LeasedPool) (*LeasedPool, error) {
				if leased = old != nil && (!lost || old.Pool != of.pool.Name || !l.isAbandoned(*old, activation)); leased {
					return old, nil
				}
				return l.newLease(ctx, s, r, of, activation)
			})
			if err != nil || !leased {
				return p, err
			}
		}
	}
	return LeasedPool{}, fmt.Errorf("%w: all subnets of %s are leased (%d): remove a network, or name the subnet of a removed "+
		"one with --subnet", network.ErrExhausted, what, len(subnets))
}

// isLost reports whether the client presumably never received a lease: the process was killed before the answer,
// or the write was uncertain, and the lease is unused since.
func (l *Driver) isLost(p LeasedPool) bool {
	return !p.Used && (l.undelivered[p.ID] || !strings.HasPrefix(p.Term, l.life+"-"))
}

// isAbandoned reports whether a lost lease can be given to another network: the client does not request it again, as after its
// own restart, and an answer on its way has arrived.
func (l *Driver) isAbandoned(p LeasedPool, activation int) bool {
	return l.isLost(p) && p.Activation == activation && l.options.Clock.Since(p.Since) >= l.options.Grace
}

// leaseOf returns the lease of a subnet, which may be of a pool that had the subnet before. The lease has no identifier
// if there is none.
func (l *Driver) leaseOf(ctx context.Context, s *space, subnet netip.Prefix) (LeasedPool, error) {
	rows, err := s.table.Rows(ctx)
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if rows[id].Prefix == subnet {
			return rows[id], nil
		}
	}
	return LeasedPool{}, err
}

// newLease returns a lease of a pool that is not leased.
func (l *Driver) newLease(ctx context.Context, s *space, r PoolRequest, of candidate, activation int) (*LeasedPool, error) {
	if err := checkRange(of.pool, of.prefix, r.Within); err != nil {
		return nil, err
	}
	p := &LeasedPool{
		ID: s.id(of.pool.Name, of.prefix), Space: s.name, Pool: of.pool.Name, Prefix: of.prefix, Within: r.Within,
		Gateway: gatewayOf(of.pool, of.prefix),
		Profile: of.profile, Options: ourOptions(r.Options), Activation: activation, Term: l.uniqueName(),
		Since: l.options.Clock.Now().UTC(),
	}
	return p, l.options.Policy().Permit(ctx, l.subject(*p))
}

// renewed returns a lease that the same client requests again.
func (l *Driver) renewed(s *space, r PoolRequest, p LeasedPool, pool *policy.Pool, activation int) (*LeasedPool, error) {
	if !s.shared || r.Within.IsValid() {
		if err := checkRange(pool, p.Prefix, r.Within); err != nil {
			return nil, err
		}
		p.Within = r.Within
	}
	if options := ourOptions(r.Options); len(options) > 0 {
		p.Profile, p.Options = options[OptionProfile], options
	}
	if !s.shared {
		p.Network = "" // it may belong to another network now
		if p.Activation = activation; l.isLost(p) {
			p.Term, p.Since = l.uniqueName(), l.options.Clock.Now().UTC()
		}
	}
	return &p, nil
}

// ReleasePool ends a lease. It ignores an unknown one. In the global space, it ends with the lease's last user. The
// sweep releases addresses that were not released before. It fails if the ledger does.
func (l *Driver) ReleasePool(ctx context.Context, id string) error {
	s, err := l.spaceOf(id)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, err = l.update(ctx, s, id, func(p *LeasedPool) (*LeasedPool, error) {
		if p != nil && s.shared {
			if p.Users = l.remainingUsers(p.Users); len(p.Users) > 0 {
				return p, nil
			}
		}
		return nil, nil //nolint:nilnil // delete it
	})
	return err
}

// several replaces the network of a lease if the client named two networks. It is not a valid identifier.
const several = "*"

// RecordNetwork records that the client named a network for a subnet's lease. The record is valid until the client
// requests the lease again, after its restart or because it forgot the network and creates another. Only such a
// record proves that addresses that the network does not have are unused. It also marks the lease as used.
// It ignores subnets without a lease and shared spaces. It fails if the ledger does.
func (l *Driver) RecordNetwork(ctx context.Context, space string, subnet netip.Prefix, network string) error {
	if space != LocalSpace {
		return nil
	}
	local := l.spaces[0]
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known, err := l.leaseOf(ctx, local, subnet)
	if err != nil || known.ID == "" {
		return err
	}
	_, err = l.update(ctx, local, known.ID, func(p *LeasedPool) (*LeasedPool, error) {
		if p == nil {
			return nil, nil //nolint:nilnil // there is no lease
		}
		if p.Used = true; p.Network == "" {
			p.Network = network
		} else if p.Network != network {
			p.Network = several
		}
		return p, nil
	})
	return err
}

// useLease returns a lease and records who uses it. Another client with the same identifier may have ended the lease, while
// this client still uses it: then it begins again.
func (l *Driver) useLease(ctx context.Context, s *space, id, user string, activation int) (LeasedPool, error) {
	p, on, err := s.table.Get(ctx, id)
	if err != nil || on && p.Used && (user == "" || slices.Contains(p.Users, user)) {
		return p, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.update(ctx, s, id, func(p *LeasedPool) (*LeasedPool, error) {
		if p == nil {
			name, prefix, _ := s.parse(id)
			pool := l.options.Policy().Pool(name)
			if _, has := subnetOf(pool, prefix); !has {
				return nil, fmt.Errorf("%w: %s; no pool %s has this subnet", ErrUnknown, id, name)
			}
			p = &LeasedPool{ID: id, Space: s.name, Pool: name, Prefix: prefix, Gateway: gatewayOf(pool, prefix), Term: l.uniqueName(),
				Since: l.options.Clock.Now().UTC()}
			if !s.shared {
				p.Activation = activation
			}
		}
		if p.Used = true; user != "" {
			p.Users = addWord(p.Users, user)
		}
		return p, nil
	})
}

// isUnused reports whether an address of a lease is certainly unused: the client has named the lease's network
// since it last requested the lease, that network exists, and does not have the address. An existing network
// that was not named proves nothing, because the client may have forgotten it. has reports whether the address
// is certainly in use.
func (l *Driver) isUnused(ctx context.Context, s *space, p LeasedPool, subnet netip.Prefix, address netip.Addr) (unused,
	has bool, err error) {
	there, has, err := l.options.Knows(ctx, p.Network, s.name, subnet, address)
	if err != nil {
		return false, false, fmt.Errorf("finding the owner of %s: %w", address, err)
	}
	return there && !has && p.Network != "" && p.Network != several, has, nil
}

// Options of the user and of the client.
const (
	// OptionProfile selects a profile, for pools and networks.
	OptionProfile = "profile"
	optionPool    = "pool"
	// OwnOptions is the prefix of the client's own options.
	OwnOptions = "com.docker."
	// optionType is the purpose of an address: TypeGateway or none. Swarm also sends it with pools.
	optionType  = "RequestAddressType"
	TypeGateway = OwnOptions + "network.gateway"
	// optionSerial is sent with all requests of Swarm's managers and only with these (moby,
	// daemon/libnetwork/cnmallocator).
	optionSerial = OwnOptions + "network.ipam.serial"
)

// checkOptions returns an error for an unknown option.
func checkOptions(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if name != OptionProfile && name != optionPool && name != optionType && !strings.HasPrefix(name, OwnOptions) {
			return fmt.Errorf("%w: there is no option %q; there are %s and %s", link.ErrImpossible, name, optionPool, OptionProfile)
		}
	}
	return nil
}

// ourOptions returns the user's options.
func ourOptions(options map[string]string) map[string]string {
	users := maps.Clone(options)
	maps.DeleteFunc(users, func(name, value string) bool {
		return value == "" || name != OptionProfile && name != optionPool
	})
	return users
}

// candidate is a subnet to lease, with the profile that allows it.
type candidate struct {
	pool    *policy.Pool
	prefix  netip.Prefix
	profile string
}

// candidates returns the subnets that a request allows, in order, and the selection of the options for messages. It
// fails if there is none.
//
//nolint:cyclop // one list of checks
func candidates(p *policy.Policy, r PoolRequest) (subnets []candidate, what string, err error) {
	var pools []*policy.Pool
	for _, name := range slices.Sorted(maps.Keys(p.Pools)) {
		pools = append(pools, p.Pools[name])
	}
	what = "the server"
	chosen, name := r.Options[OptionProfile], r.Options[optionPool]
	if chosen == "" && name == "" && !r.named() {
		return nil, "", fmt.Errorf("%w: name the addresses: --ipam-opt profile=NAME, --ipam-opt pool=NAME, or --subnet",
			link.ErrImpossible)
	}
	var families []int // the address lengths of the profile in bits; nil means all
	if chosen != "" {
		profile, err := p.Choose(chosen)
		if err != nil {
			return nil, "", fmt.Errorf("%w: %w", link.ErrImpossible, err)
		}
		if len(profile.Pools) == 0 {
			return nil, "", fmt.Errorf("%w: the profile %s has no pools", link.ErrImpossible, chosen)
		}
		pools, families, what = profile.Pools, profile.Families, "the profile "+chosen
	}
	if name != "" {
		pool := p.Pool(name)
		switch {
		case pool == nil:
			return nil, "", fmt.Errorf("%w: there is no pool %q; %s", link.ErrImpossible, name,
				source.ListKnown(slices.Sorted(maps.Keys(p.Pools))))
		case !slices.Contains(pools, pool):
			return nil, "", fmt.Errorf("%w: the pool %s is not one of the profile %s", link.ErrImpossible, name, chosen)
		}
		pools, what = []*policy.Pool{pool}, "the pool "+name
	}
	var all []string
	for _, pool := range pools {
		for _, subnet := range pool.Subnets {
			if families != nil && !slices.Contains(families, subnet.Prefix.Addr().BitLen()) {
				continue
			}
			all = append(all, subnet.Prefix.String())
			if r.matches(subnet.Prefix) {
				subnets = append(subnets, candidate{pool, subnet.Prefix, chosen})
			}
		}
	}
	if len(subnets) > 0 {
		return subnets, what, nil
	}
	wanted := "matching IPv4 subnet"
	if r.named() {
		wanted = "subnet " + r.Subnet.String()
	} else if r.Six {
		wanted = "matching IPv6 subnet"
	}
	slices.Sort(all)
	return nil, what, fmt.Errorf("%w: %s has no %s; %s", network.ErrOutside, what, wanted, source.ListKnown(all))
}

// subnetOf returns the subnet of a pool with a prefix.
func subnetOf(pool *policy.Pool, prefix netip.Prefix) (ledger.Subnet, bool) {
	if pool != nil {
		for _, subnet := range pool.Subnets {
			if subnet.Prefix == prefix {
				return subnet, true
			}
		}
	}
	return ledger.Subnet{}, false
}

// checkRange validates the range for the selection of addresses.
func checkRange(pool *policy.Pool, prefix, part netip.Prefix) error {
	if !part.IsValid() {
		return nil
	}
	if part.Bits() < prefix.Bits() || !prefix.Contains(part.Addr()) {
		return fmt.Errorf("%w: the range %s is not in the subnet %s", network.ErrOutside, part, prefix)
	}
	subnet, has := subnetOf(pool, prefix)
	if !has {
		return nil
	}
	of := netipx.RangeOfPrefix(part)
	if _, _, ok := allocator.NewSpace(subnet.Dynamic).Between(of.From(), of.To()); !ok {
		return fmt.Errorf("%w: the pool %s has no free choice of addresses in the range %s", network.ErrOutside, pool.Name, part)
	}
	return nil
}

// gatewayOf returns the gateway that a pool declares in a subnet, or the zero Addr.
func gatewayOf(pool *policy.Pool, prefix netip.Prefix) netip.Addr {
	if pool != nil {
		if i := slices.IndexFunc(pool.Gateways, prefix.Contains); i >= 0 {
			return pool.Gateways[i]
		}
	}
	return netip.Addr{}
}
