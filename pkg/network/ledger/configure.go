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

// Configure puts pools in the place of those that there were. What is held stays held, also where it is stranded: then it is given to
// nobody when it is released. Nothing that was chosen out of the old pools is written any more when it returns.
func (l *Ledger) Configure(ctx context.Context, pools ...Pool) error {
	_, err := l.ConfigureUnless(ctx, nil, pools...)
	return err
}

// ConfigureUnless is Configure; but when refuse says so of allocations that would be stranded, nothing is changed, and these are given. Meanwhile
// nothing is given out, so that none is stranded that refuse has not seen, except by other servers that share the store.
func (l *Ledger) ConfigureUnless(ctx context.Context, refuse func(network.Allocation) bool, pools ...Pool) ([]network.Allocation, error) {
	made, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	l.changing.Lock()
	defer l.changing.Unlock()
	if refuse != nil {
		if refused, err := l.stranded(ctx, made, refuse); err != nil || len(refused) > 0 {
			return refused, err
		}
	}
	read, err := l.readUnknown(ctx, made)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	freed := l.freed
	if l.freed = nil; err != nil {
		return nil, err
	}
	for name, of := range made {
		of.inherit(l.pools[name])
	}
	l.pools = made
	for _, key := range read {
		if _, free := freed[key]; !free {
			l.take(key)
		}
	}
	return nil, nil
}

// readUnknown reads the rows of addresses of which memory knows nothing: of pools, and of families of them, that were not there before. What
// becomes free meanwhile is remembered.
func (l *Ledger) readUnknown(ctx context.Context, made map[string]*pool) (keys []string, err error) {
	l.mutex.Lock()
	l.freed = map[string]struct{}{}
	var unknown []string
	for name, of := range made {
		if !l.pools[name].knows(of) {
			unknown = append(unknown, name)
		}
	}
	l.mutex.Unlock()
	for _, name := range unknown {
		err := l.store.Scan(ctx, prefixAddress+name+"/", func(key, _ []byte) error {
			keys = append(keys, string(key))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the pool %s: %w", name, err)
		}
	}
	return keys, nil
}

// knows says whether an earlier version of a pool has all families of a later one.
func (p *pool) knows(later *pool) bool {
	for _, subnet := range later.Subnets {
		if p.family(subnet.Prefix.Addr()) < 0 {
			return false
		}
	}
	return true
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

// inherit takes over what an earlier version of the pool knows to be taken, and where its choice goes on when its ranges are the same.
func (p *pool) inherit(old *pool) {
	for i, subnet := range p.Subnets {
		at := old.family(subnet.Prefix.Addr())
		switch {
		case at < 0:
		case old.Subnets[at].Dynamic.Equal(subnet.Dynamic):
			p.indexes[i] = old.indexes[at]
		default:
			for address := range old.indexes[at].All() {
				p.indexes[i].Take(address)
			}
		}
	}
}
