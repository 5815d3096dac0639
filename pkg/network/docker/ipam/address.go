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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// The initial kinds of holders, until Describe sets better ones.
const (
	kindAddress = "Network"
	kindGateway = "Gateway"
)

// maximumChoices limits the retries after other callers took or released the same address.
const maximumChoices = 64

// wish is a request for an address.
type wish struct {
	*Driver
	space *space
	lease Pool
	pool  *policy.Pool
	// gateway is true for the address of the network's gateway. word identifies the caller.
	gateway    bool
	word       string
	activation int
	// lost marks an address that the client presumably never received; see lose.
	lost string
	// joined is true if the word was added to those of a shared space.
	joined bool
}

// RequestAddress allocates an address of a lease: the given one, or any. An address that was allocated before
// the client's restart is returned again if its pool was requested since. Errors wrap ErrUnknown, ErrRequest,
// policy.ErrDenied, network.ErrOutside, ErrTaken, ErrExhausted, ErrQuota, ErrRefused, ErrBusy or
// ErrUnavailable.
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

// wish finds the lease of a request and marks it as used.
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

// formerGateway reserves a gateway's address that the pool no longer declares, so that nothing else gets it. A
// failure is only reported, because the network has the address anyway.
func (w *wish) formerGateway(ctx context.Context, address netip.Addr) {
	err := w.named(ctx, address)
	if err != nil && !errors.Is(err, network.ErrOutside) && !errors.Is(err, network.ErrUnknownPool) {
		w.options.Report(fmt.Errorf("the gateway %s of a network is not declared by the pool %s any more, and cannot be taken: %w", address, w.lease.Pool, err))
	}
}

// chosen allocates any address.
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

// served returns an error if the pool no longer has the subnet.
func (w *wish) served() error {
	if w.pool == nil {
		return fmt.Errorf("%w %q: no profile has it, or it has not the subnet %s any more; what is held of it can be given back",
			network.ErrUnknownPool, w.lease.Pool, w.lease.Prefix)
	}
	return nil
}

// take allocates an address for an owner. fresh is false if another caller was faster. After an error nothing
// is allocated, because no caller would release it. asked lists the requested addresses for the policy.
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

// subject returns the lease's data for the policy's rules.
func (l *Driver) subject(p Pool) policy.Subject {
	return policy.Subject{Contract: Contract, Profile: p.Profile, Pool: p.Pool, Node: l.options.Node, Options: p.Options}
}

// ReleaseAddress releases an address of a lease. It ignores other addresses.
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
