// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// The kinds of holders.
const (
	kindAddress = "Network"
	kindGateway = "Gateway"
)

// maximumChoices limits the retries after other callers took or released the same address.
const maximumChoices = 64

// addressRequest is a request for an address.
type addressRequest struct {
	*Driver
	space *space
	lease LeasedPool
	pool  *policy.Pool
	// gateway is true for the address of the network's gateway. word identifies the caller.
	gateway    bool
	word       string
	activation int
	// joined is true if the request has added the word to the holder.
	joined bool
}

// RequestAddress allocates an address of a lease: the requested one, or any. An address that was allocated before the
// client's restart is returned again if its pool was requested since. Errors wrap ErrUnknown, link.ErrImpossible,
// policy.ErrDenied, network.ErrOutside, ErrTaken, ErrExhausted, ErrQuota, ErrRefused, ErrBusy or ErrUnavailable.
func (l *Driver) RequestAddress(ctx context.Context, id string, address netip.Addr,
	options map[string]string) (netip.Prefix, error) {
	w, err := l.newAddressRequest(ctx, id, options)
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
		w.reserveFormerGateway(ctx, address)
	case address.IsValid():
		err = w.allocateNamed(ctx, address)
	default:
		address, err = w.allocateAny(ctx)
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(address, w.lease.Prefix.Bits()), nil
}

// newAddressRequest finds the lease of a request and marks it as used.
func (l *Driver) newAddressRequest(ctx context.Context, id string, options map[string]string) (*addressRequest, error) {
	if err := checkOptions(options); err != nil {
		return nil, err
	}
	w := &addressRequest{Driver: l}
	var err error
	if w.space, err = l.spaceOf(id); err != nil {
		return nil, err
	}
	if kind := options[optionType]; kind == TypeGateway {
		w.gateway = true
	} else if kind != "" {
		return nil, fmt.Errorf("%w: unknown address type %q: must be %s", link.ErrImpossible, kind, TypeGateway)
	}
	if w.activation, err = l.activation(ctx); err != nil {
		return nil, err
	}
	word := ""
	if w.space.shared {
		word = l.roleWord(options)
	}
	if w.lease, err = l.useLease(ctx, w.space, id, word, w.activation); err != nil {
		return nil, err
	}
	if w.word = word; word == "" {
		w.word = wordLease + w.lease.Term + "/" + strconv.Itoa(w.activation)
	}
	pool := l.options.Policy().Pool(w.lease.Pool)
	if _, has := subnetOf(pool, w.lease.Prefix); has {
		w.pool = pool
	}
	return w, nil
}

// reserveFormerGateway reserves a gateway's address that the pool no longer declares, so that nothing else gets it. A
// failure is only reported, because the network has the address anyway.
func (w *addressRequest) reserveFormerGateway(ctx context.Context, address netip.Addr) {
	err := w.allocateNamed(ctx, address)
	if err != nil && !errors.Is(err, network.ErrOutside) && !errors.Is(err, network.ErrUnknownPool) {
		w.options.Report(fmt.Errorf("the gateway %s of a network is not declared by the pool %s any more, and cannot be "+
			"taken: %w", address, w.lease.Pool, err))
	}
}

// allocateAny allocates any address.
func (w *addressRequest) allocateAny(ctx context.Context) (netip.Addr, error) {
	if err := w.checkServed(); err != nil {
		return netip.Addr{}, err
	}
	for range maximumChoices {
		address, err := w.options.Service.Next(ctx, w.pool.Name, cmp.Or(w.lease.Within, w.lease.Prefix))
		if err != nil {
			return netip.Addr{}, err
		}
		fresh, err := w.allocate(ctx, w.space.owner(w.lease.ID, address), address, nil)
		if fresh || err != nil && !errors.Is(err, network.ErrTaken) {
			return address, err
		}
	}
	return netip.Addr{}, fmt.Errorf("%w: %d conflicts with other requests", network.ErrTaken, maximumChoices)
}

// checkServed returns an error if the pool no longer has the subnet.
func (w *addressRequest) checkServed() error {
	if w.pool == nil {
		return fmt.Errorf("%w %q: no profile has it, or its subnet %s was removed; its allocations can "+
			"be given back", network.ErrUnknownPool, w.lease.Pool, w.lease.Prefix)
	}
	return nil
}

// allocate allocates an address for an owner. fresh is false if another caller was faster. After an error nothing
// is allocated, because no caller would release it. asked lists the requested addresses for the policy.
func (w *addressRequest) allocate(ctx context.Context, owner network.Owner, address netip.Addr, asked []netip.Addr) (fresh bool,
	err error) {
	if err := w.checkServed(); err != nil {
		return false, err
	}
	subject := w.subject(w.lease)
	subject.Addresses = asked
	if err := w.options.Policy().Permit(ctx, subject); err != nil {
		return false, err
	}
	quotas, err := w.pool.Quotas(ctx, subject)
	if err != nil {
		return false, fmt.Errorf("checking the quotas: %w", err)
	}
	mark := w.uniqueName()
	holder := network.Holder{Kind: kindAddress, Name: w.lease.ID, UID: mark, Node: w.options.Node,
		Aliases: []string{w.word}}
	if w.gateway {
		holder.Kind = kindGateway
	}
	a, err := w.options.Service.Allocate(ctx, service.Request{
		Owner: owner, PreviousOwner: owner.Key, Pool: w.pool.Name, Addresses: []netip.Addr{address}, Families: []int{},
		Trunk:  network.Trunk{Node: w.options.Node},
		Holder: holder, Quotas: quotas,
	})
	if err == nil {
		return a.Holder.UID == mark, nil
	}
	w.joined = true
	w.undo(ctx, owner, address, mark)
	return false, err
}

// subject returns the lease's data for the policy's rules.
func (l *Driver) subject(p LeasedPool) policy.Subject {
	return policy.Subject{Contract: Contract, Profile: p.Profile, Pool: p.Pool, Node: l.options.Node, Options: p.Options}
}

// ReleaseAddress releases an address of a lease. It ignores other addresses. It fails if the ledger does.
func (l *Driver) ReleaseAddress(ctx context.Context, id string, address netip.Addr) error {
	s, err := l.spaceOf(id)
	if err != nil {
		return err
	}
	owner := s.owner(id, address.Unmap())
	if !s.shared {
		return l.options.Service.Release(ctx, owner)
	}
	return l.options.Service.Unclaim(ctx, owner, func(h *network.Holder) (own, over bool) {
		rest := l.remainingUsers(h.Aliases)
		own = len(rest) < len(h.Aliases) || len(rest) == 0
		h.Aliases = rest
		return own, len(rest) == 0
	})
}

// allocateNamed allocates the requested address.
func (w *addressRequest) allocateNamed(ctx context.Context, address netip.Addr) error {
	unused := false
	if !w.space.shared {
		var err error
		if unused, _, err = w.isUnused(ctx, w.space, w.lease, w.lease.Prefix, address); err != nil {
			return err
		}
	}
	owner := w.space.owner(w.lease.ID, address)
	for range maximumChoices {
		held, err := w.options.Service.Claim(ctx, owner, func(h *network.Holder) error { return w.repeat(h, unused) })
		if errors.Is(err, network.ErrNotHeld) {
			if fresh, err := w.allocate(ctx, owner, address, []netip.Addr{address}); err != nil || fresh {
				return err
			}
			continue // another call took it for the same owner
		}
		if err == nil && held.State == network.Intended {
			// It is not known whether the cloud has the unfinished allocation.
			if _, err = w.options.Service.Allocate(ctx, service.Request{Owner: owner, Pool: held.Pool,
				Addresses: held.Addresses}); err != nil {
				w.undo(ctx, owner, address, held.Holder.UID)
			}
		}
		if errors.Is(err, network.ErrTaken) {
			err = fmt.Errorf("%w: %s", err, address)
		}
		return err
	}
	return fmt.Errorf("%w: other requests allocate and release %s at the same time; retry", network.ErrUnavailable, address)
}

// repeat records a repeated request for an address that is already allocated from the lease. It returns an error if the
// address does not belong to the caller. An unused one does if the process that allocated it was killed, perhaps before
// it could answer.
func (w *addressRequest) repeat(h *network.Holder, unused bool) error {
	if w.space.shared {
		if node := w.otherNode(h.Aliases); node != "" && !w.gateway && w.word == wordTask+w.node() {
			return fmt.Errorf("%w on the node %s", network.ErrTaken, node)
		}
		w.joined = !slices.Contains(h.Aliases, w.word)
		h.Aliases = addWord(h.Aliases, w.word)
		return nil
	}
	switch {
	case unused && !strings.HasPrefix(h.UID, w.life+"-"):
	case slices.Contains(h.Aliases, w.word):
		return fmt.Errorf("%w in this network", network.ErrTaken)
	case w.lease.Activation != w.activation:
		return fmt.Errorf("%w since before the client's start, and its network was not requested again since then",
			network.ErrTaken)
	}
	h.Aliases, h.UID, w.joined = []string{w.word}, w.uniqueName(), true
	return nil
}

// undoing limits the time for rolling back a request after its caller may have disconnected.
const undoing = 10 * time.Second

// undo undoes a request, identified by mark, and releases the address unless other users of a shared space
// have it. No other call would undo it, but the sweep releases it in the end.
func (w *addressRequest) undo(ctx context.Context, owner network.Owner, address netip.Addr, mark string) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	err := w.options.Service.Unclaim(within, owner, func(h *network.Holder) (own, over bool) {
		if h.UID != mark || !w.joined || !slices.Contains(h.Aliases, w.word) {
			return false, false
		}
		h.Aliases = slices.DeleteFunc(slices.Clone(h.Aliases), func(word string) bool { return word == w.word })
		return true, len(h.Aliases) == 0
	})
	if err != nil {
		w.options.Report(fmt.Errorf("releasing %s, which could not be bound: %w", address, err))
	}
}

// Find returns the allocation of an address that was leased from a subnet, and its pool, or nil if the policy
// no longer has the pool. The error wraps network.ErrNotHeld if there is no allocation, as for a gateway that
// the pool declares.
func (l *Driver) Find(ctx context.Context, space string, subnet netip.Prefix, address netip.Addr) (a network.Allocation,
	pool *policy.Pool, err error) {
	s, err := l.space(space)
	if err != nil {
		return a, nil, fmt.Errorf("%w: %w", network.ErrNotHeld, err)
	}
	lease, err := l.leaseOf(ctx, s, subnet.Masked())
	if err != nil {
		return a, nil, err
	}
	a, err = l.options.Service.Get(ctx, s.owner(lease.ID, address.Unmap()))
	if err == nil && a.State == network.Releasing || errors.Is(err, network.ErrNotHeld) {
		return network.Allocation{}, nil, fmt.Errorf("%w: %s belongs to no leased pool", network.ErrNotHeld, address)
	}
	return a, l.options.Policy().Pool(a.Pool), err
}

// Sweep releases addresses that have been unused for the grace period: those of ended leases, which the client
// did not release itself, and those that no network of the client has, because the client or this process was
// killed before they were used. No lease of this process changes during a sweep. It continues after an error, and
// returns all errors.
func (l *Driver) Sweep(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	gone := map[string]time.Time{} // replaces l.gone
	var errs []error
	for _, s := range l.spaces {
		if err := l.sweep(ctx, s, gone); err != nil {
			errs = append(errs, fmt.Errorf("searching for unused addresses: %w", err))
		}
	}
	l.gone = gone
	return errors.Join(errs...)
}

// sweep releases the unused addresses of a space, and notes those that it keeps for the grace period.
func (l *Driver) sweep(ctx context.Context, s *space, gone map[string]time.Time) error {
	held, err := l.options.Service.Owned(ctx, network.Owner{Contract: Contract, Key: s.owners + s.short + "/"})
	if err != nil {
		return err
	}
	leases, err := s.table.Rows(ctx) // read after the addresses, so that each has its lease
	if err != nil {
		return err
	}
	now, errs := l.options.Clock.Now(), []error{}
	for _, a := range held {
		stray, err := l.isStray(ctx, s, a, leases)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if !stray || a.State == network.Releasing {
			continue
		}
		of := a.Owner.String() + " " + a.Holder.UID // a later allocation for the same owner may be in use
		since, known := l.gone[of]
		if !known {
			since = now
		}
		if gone[of] = since; now.Sub(since) >= l.options.Grace {
			errs = append(errs, l.release(ctx, a))
		}
	}
	return errors.Join(errs...)
}

// isStray reports whether an address is unused: no network has it, and it belongs to an earlier lease of its identifier,
// or the client has named the network.
func (l *Driver) isStray(ctx context.Context, s *space, a network.Allocation, leases map[string]LeasedPool) (bool, error) {
	id, address, is := s.parseOwner(a.Owner)
	p := leases[id]
	leased := p.ID != "" && (s.shared || slices.ContainsFunc(a.Holder.Aliases, func(word string) bool {
		return strings.HasPrefix(word, wordLease+p.Term+"/")
	}))
	if !is || leased && s.shared {
		return false, nil
	}
	_, prefix, _ := s.parse(id)
	unused, has, err := l.isUnused(ctx, s, p, prefix, address)
	return unused || err == nil && !has && !leased, err
}

// release releases an address unless its holder has changed.
func (l *Driver) release(ctx context.Context, a network.Allocation) error {
	freed := false
	err := l.options.Service.Unclaim(ctx, a.Owner, func(h *network.Holder) (own, over bool) {
		freed = h.UID == a.Holder.UID && slices.Equal(h.Aliases, a.Holder.Aliases)
		return freed, freed
	})
	if err != nil {
		return fmt.Errorf("releasing the addresses of %s: %w", a.Owner, err)
	}
	if freed {
		l.options.Freed(a)
	}
	return nil
}
