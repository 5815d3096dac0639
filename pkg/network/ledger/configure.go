// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Stranded are the allocations that would be outside of pools that were as given: of a pool that is not among them, or with an address in
// no range of it. Nothing is changed.
func (l *Ledger) Stranded(ctx context.Context, pools ...Pool) ([]network.Allocation, error) {
	wanted, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	var stranded []network.Allocation
	err = l.All(ctx, func(a network.Allocation) error {
		if !wanted[a.Pool].covers(a) {
			stranded = append(stranded, a)
		}
		return nil
	})
	return stranded, err
}

// covers says whether all addresses of an allocation are in ranges; those of a pool without subnets are the cloud's.
func (p *pool) covers(a network.Allocation) bool {
	if p == nil {
		return false
	}
	if len(p.Subnets) == 0 {
		return true
	}
	for _, address := range a.Addresses {
		if _, err := p.subnet(address); err != nil {
			return false
		}
	}
	return true
}

// Configure puts pools in the place of those that there were. What is held stays held, also where it is stranded: then it is given to
// nobody when it is released.
func (l *Ledger) Configure(ctx context.Context, pools ...Pool) error {
	made, err := newPools(pools)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	// Memory is at most behind by commits that are under way, and those have taken their places in it already.
	for name, of := range made {
		if old := l.pools[name]; old != nil {
			of.inherit(old)
			continue
		}
		if err := l.read(ctx, name, of); err != nil {
			return fmt.Errorf("reading the pool %s: %w", name, err)
		}
	}
	l.pools = made
	return nil
}

// inherit takes what an earlier version of the pool knows to be taken.
func (p *pool) inherit(old *pool) {
	for _, index := range old.indexes {
		for address := range index.All() {
			p.note(address)
		}
	}
}

// read reads what is taken of a pool that was not there before, though its rows were.
func (l *Ledger) read(ctx context.Context, name string, of *pool) error {
	return l.store.Scan(ctx, prefixAddress+name+"/", func(key, _ []byte) error {
		_, address, err := parseAddress(string(key))
		if err != nil {
			return err
		}
		of.note(address)
		return nil
	})
}
