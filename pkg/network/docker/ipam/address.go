// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// The kinds of holders, until whoever knows more says so.
const (
	kindAddress = "Network"
	kindGateway = "Gateway"
)

// maximumChoices bounds how often a request is retried because others took or gave back the same address.
const maximumChoices = 64

// wish is one request for an address.
type wish struct {
	*Driver
	space *space
	lease Pool
	pool  *policy.Pool
	// gateway says that it is for the router of the network; word is who asks.
	gateway    bool
	word       string
	activation int
	// lost is the mark of an address that the client was never told of, as far as is known; see lose.
	lost string
	// joined says that the claim has added the word to those of a shared space.
	joined bool
}

// RequestAddress gives an address of a lease: the one that is named, or one of the ledger's choice. One that is named and was given before the client has
// started is the same one, if its pool was asked for again since then. The errors wrap ErrUnknown, ErrRequest, policy.ErrDenied, network.ErrOutside,
// ErrTaken, ErrExhausted, ErrQuota, ErrRefused, ErrBusy or ErrUnavailable.
func (l *Driver) RequestAddress(ctx context.Context, id string, address netip.Addr, options map[string]string) (netip.Prefix, error) {
	w, err := l.wish(ctx, id, options)
	if err != nil {
		return netip.Prefix{}, err
	}
	address = address.Unmap()
	if address.IsValid() && !w.lease.Prefix.Contains(address) {
		return netip.Prefix{}, fmt.Errorf("%w: %s is not in %s", network.ErrOutside, address, w.lease.Prefix)
	}
	switch declared := gatewayOf(w.pool, w.lease.Prefix); {
	case w.gateway && declared.IsValid() && (!address.IsValid() || address == declared):
		address = declared
	case w.gateway && address.IsValid() && address == w.lease.Gateway:
		w.formerGateway(ctx, address)
	case address.IsValid():
		err = w.named(ctx, address)
	default:
		address, err = w.chosen(ctx)
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(address, w.lease.Prefix.Bits()), nil
}

// wish finds the lease that an address is asked of, and notes that it is used.
func (l *Driver) wish(ctx context.Context, id string, options map[string]string) (*wish, error) {
	if err := checkOptions(options); err != nil {
		return nil, err
	}
	w := &wish{Driver: l}
	var err error
	if w.space, err = l.spaceOf(id); err != nil {
		return nil, err
	}
	if kind := options[optionType]; kind == TypeGateway {
		w.gateway = true
	} else if kind != "" {
		return nil, fmt.Errorf("%w: there is no type of address %q; there is %s", ErrRequest, kind, TypeGateway)
	}
	if w.activation, err = l.activation(ctx); err != nil {
		return nil, err
	}
	word := ""
	if w.space.shared {
		word = l.roleWord(options)
	}
	if w.lease, err = l.use(ctx, w.space, id, word); err != nil {
		return nil, err
	}
	if w.word = word; word == "" {
		w.word = leaseWord(w.lease.Term, w.activation)
	}
	if pool := l.options.Policy().Pool(w.lease.Pool); pool != nil {
		if _, has := subnetOf(pool, w.lease.Prefix); has {
			w.pool = pool
		}
	}
	return w, nil
}

// use finds a lease, and notes that it is used, and by whom.
func (l *Driver) use(ctx context.Context, s *space, id, word string) (Pool, error) {
	used := func(p Pool) bool { return p.Used && (word == "" || slices.Contains(p.Users, word)) }
	p, on, err := s.table.Get(ctx, id)
	if err != nil || on && used(p) {
		return p, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for range attempts {
		if p, on, err = s.table.Get(ctx, id); err != nil || on && used(p) {
			return p, err
		}
		if !on {
			if p, err = l.revived(s, id); err != nil {
				return p, err
			}
		}
		if p.Used = true; word != "" {
			p.Users = join(p.Users, word)
		}
		if err = l.put(ctx, s, p); !errors.Is(err, record.ErrStale) {
			return p, err
		}
	}
	return p, err
}

// revived is the lease of an identifier that has none: its client has not ended it where another one, which was told the same identifier, has, and
// nobody else can have it. The mutex is held.
func (l *Driver) revived(s *space, id string) (Pool, error) {
	name, prefix, _ := s.parse(id)
	pool := l.options.Policy().Pool(name)
	if _, has := subnetOf(pool, prefix); !has {
		return Pool{}, fmt.Errorf("%w: %s; no pool %s has this subnet", ErrUnknown, id, name)
	}
	p := Pool{ID: id, Space: s.name, Pool: name, Prefix: prefix, Gateway: gatewayOf(pool, prefix), Term: l.unique(), Since: l.options.Clock.Now().UTC()}
	if l.started != nil && !s.shared {
		p.Activation = l.started.Activation
	}
	return p, nil
}

// formerGateway takes the address of a gateway that the pool does not declare any more, so that it is given to nobody else. The network has it in any case.
func (w *wish) formerGateway(ctx context.Context, address netip.Addr) {
	err := w.named(ctx, address)
	if err != nil && !errors.Is(err, network.ErrOutside) && !errors.Is(err, network.ErrUnknownPool) {
		w.options.Report(fmt.Errorf("the gateway %s of a network is not declared by the pool %s any more, and cannot be taken: %w", address, w.lease.Pool, err))
	}
}

// chosen gives an address of the ledger's choice.
func (w *wish) chosen(ctx context.Context) (netip.Addr, error) {
	if err := w.served(); err != nil {
		return netip.Addr{}, err
	}
	for attempt := range maximumChoices {
		address, err := w.options.Service.Next(ctx, w.pool.Name, w.lease.part(), attempt)
		if err != nil {
			return netip.Addr{}, err
		}
		fresh, err := w.take(ctx, w.space.owner(w.lease.ID, address), address, nil)
		if fresh || err != nil && !errors.Is(err, network.ErrTaken) {
			return address, err
		}
	}
	return netip.Addr{}, fmt.Errorf("%w: others were quicker %d times", network.ErrTaken, maximumChoices)
}

// served says why nothing is given of the pool any more.
func (w *wish) served() error {
	if w.pool == nil {
		return fmt.Errorf("%w %q: no profile has it, or it has not the subnet %s any more; what is held of it can be given back",
			network.ErrUnknownPool, w.lease.Pool, w.lease.Prefix)
	}
	return nil
}

// take gives an address to an owner that holds nothing. It is not fresh when somebody else was quicker. When it fails, nothing is left of it: nobody
// would ask for it again. Asked is what the policy is told of the addresses.
func (w *wish) take(ctx context.Context, owner network.Owner, address netip.Addr, asked []netip.Addr) (fresh bool, err error) {
	if err := w.served(); err != nil {
		return false, err
	}
	subject := w.subject(w.lease)
	subject.Addresses = asked
	if err := w.options.Policy().Permit(ctx, subject); err != nil {
		return false, err
	}
	quotas, err := w.pool.Quotas(ctx, subject)
	if err != nil {
		return false, fmt.Errorf("asking for the quotas: %w", err)
	}
	mark := w.unique()
	holder := network.Holder{Kind: kindAddress, Name: w.lease.ID, UID: mark, Node: w.options.Node, Aliases: []string{w.word}}
	if w.gateway {
		holder.Kind = kindGateway
	}
	a, err := w.options.Service.Allocate(ctx, service.Request{
		Owner: owner, Kin: owner.Key, Pool: w.pool.Name, Addresses: []netip.Addr{address}, Families: []int{}, Trunk: network.Trunk{Node: w.options.Node},
		Holder: holder, Quotas: quotas,
	})
	if err == nil {
		return a.Holder.UID == mark, nil
	}
	w.joined = true
	w.disclaim(ctx, owner, address, mark)
	return false, err
}

// subject is a lease as rules see it.
func (l *Driver) subject(p Pool) policy.Subject {
	return policy.Subject{Contract: Contract, Profile: p.Profile, Pool: p.Pool, Node: l.options.Node, Options: p.Options}
}

// ReleaseAddress takes back an address that came out of a lease; one that did not is no error, and stays as it is.
func (l *Driver) ReleaseAddress(ctx context.Context, id string, address netip.Addr) error {
	s, err := l.spaceOf(id)
	if err != nil {
		return err
	}
	owner := s.owner(id, address.Unmap())
	if !s.shared {
		return l.options.Service.Release(ctx, owner)
	}
	return l.options.Service.Quit(ctx, owner, func(h *network.Holder) (own, over bool) {
		rest := l.leave(h.Aliases)
		own = len(rest) < len(h.Aliases) || len(rest) == 0
		h.Aliases = rest
		return own, len(rest) == 0
	})
}
