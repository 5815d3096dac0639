// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Stranded are the allocations that would be outside of pools that were as given: of a pool that is not among them, or with an address in
// no range of it. Nothing is changed.
func (l *Ledger) Stranded(ctx context.Context, pools ...Pool) ([]network.Allocation, error) {
	wanted, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	return l.stranded(ctx, wanted, func(network.Allocation) bool { return true })
}

// stranded reads the rows of addresses, which are short, and of owners only those that may be meant: there may be very many.
func (l *Ledger) stranded(ctx context.Context, wanted map[string]*pool, counts func(network.Allocation) bool) (stranded []network.Allocation, err error) {
	owners := map[network.Owner]bool{}
	err = l.store.Scan(ctx, prefixAddress, func(key, value []byte) error {
		name, address, err := parseAddress(string(key))
		if err != nil || wanted[name].has(address) {
			return err
		}
		p, err := parsePlace(value)
		if err == nil && p.until.IsZero() {
			owners[p.owner] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the addresses: %w", err)
	}
	err = l.store.Scan(ctx, prefixOwner, func(key, value []byte) error {
		if hasAddresses(value) {
			return nil
		}
		owner, err := network.ParseOwner(strings.TrimPrefix(string(key), prefixOwner))
		owners[owner] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the owners: %w", err)
	}
	for _, owner := range slices.SortedFunc(maps.Keys(owners), func(a, b network.Owner) int { return strings.Compare(a.String(), b.String()) }) {
		a, err := l.Get(ctx, owner)
		switch {
		case errors.Is(err, network.ErrNotHeld): // released meanwhile
		case err != nil:
			return nil, err
		case !wanted[a.Pool].covers(a) && counts(a):
			stranded = append(stranded, a)
		}
	}
	return stranded, nil
}

// hasAddresses says whether the row of an owner has any, without that it is decoded: they come first of all that could be taken for them.
func hasAddresses(row []byte) bool {
	_, rest, _ := bytes.Cut(row, []byte(`"addresses":`))
	return bytes.HasPrefix(rest, []byte(`["`))
}

// covers says whether all addresses of an allocation are in ranges; those of a pool without subnets are the cloud's.
func (p *pool) covers(a network.Allocation) bool {
	if p == nil {
		return false
	}
	for _, address := range a.Addresses {
		if !p.has(address) {
			return false
		}
	}
	return true
}

// has says whether an address is in a range; that of a pool without subnets is the cloud's choice.
func (p *pool) has(address netip.Addr) bool {
	if p == nil {
		return false
	}
	if len(p.Subnets) == 0 {
		return true
	}
	_, err := p.subnet(address)
	return err == nil
}

// Configure puts pools in the place of those that there were. What is held stays held, also where it is stranded: then no pool gives it before
// it is free, and this one not even then. Nothing that was chosen out of the old pools is written any more when it returns.
func (l *Ledger) Configure(ctx context.Context, pools ...Pool) error {
	_, err := l.ConfigureUnless(ctx, nil, pools...)
	return err
}

// ConfigureUnless is Configure; but when refuse says so of allocations that would be stranded, nothing is changed, and these are given. Meanwhile
// nothing is given out, so that none is stranded that refuse has not seen, except by other servers that share the store. It reads no rows when
// the pools are those that it has accepted last, and none was drained.
func (l *Ledger) ConfigureUnless(ctx context.Context, refuse func(network.Allocation) bool, pools ...Pool) ([]network.Allocation, error) {
	made, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	l.changing.Lock()
	defer l.changing.Unlock()
	if l.inForce(made) {
		return nil, nil
	}
	if refuse != nil {
		if refused, err := l.stranded(ctx, made, refuse); err != nil || len(refused) > 0 {
			return refused, err
		}
	}
	l.hints.mutex.Lock()
	defer l.hints.mutex.Unlock()
	l.hints.exchange(made)
	l.accepted = refuse != nil
	return nil, nil
}

// inForce says that pools are those that were accepted last, and that nothing of them is in no range. What is of other pools was accepted.
func (l *Ledger) inForce(made map[string]*pool) bool {
	l.hints.mutex.Lock()
	defer l.hints.mutex.Unlock()
	if !l.accepted {
		return false
	}
	for name, of := range made {
		if len(of.Subnets) > 0 && len(l.hints.strays[name]) > 0 {
			return false
		}
	}
	return maps.EqualFunc(l.hints.pools, made, (*pool).equals)
}

// family is the place of the subnet of an address's family; -1 where there is none.
func (p *pool) family(of netip.Addr) int {
	if p != nil {
		for i, subnet := range p.Subnets {
			if subnet.Prefix.Addr().BitLen() == of.BitLen() {
				return i
			}
		}
	}
	return -1
}
