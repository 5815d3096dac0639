// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// chooseSettled is chooseAll; when something is in the way and rows are in doubt, it finds out about them, and chooses again.
func (l *Ledger) chooseSettled(ctx context.Context, intents []Intent, all []network.Allocation, fresh []bool, attempt int) error {
	refused := l.chooseAll(intents, all, fresh, attempt)
	if refused == nil {
		return nil
	}
	if l.shared != nil && errors.Is(refused, network.ErrTaken) {
		// Another server may have released it just now.
		for _, in := range intents {
			for _, address := range in.Addresses {
				l.doubtAll(addressKey(in.Pool, address))
			}
		}
	}
	if doubted, err := l.settle(ctx); err != nil || !doubted {
		return refused
	}
	return l.chooseAll(intents, all, fresh, attempt)
}

// chooseAll takes what is wanted in memory, all or nothing.
func (l *Ledger) chooseAll(intents []Intent, all []network.Allocation, fresh []bool, attempt int) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, in := range intents {
		if !fresh[i] {
			continue
		}
		var err error
		if all[i], err = l.choose(in, all[:i], attempt); err != nil {
			for before := range i {
				if fresh[before] {
					l.drop(all[before])
				}
			}
			return err
		}
	}
	return nil
}

// drop marks what an allocation holds as free, or as resting where it rested, in memory, and counts it no more.
func (l *Ledger) drop(a network.Allocation) {
	l.quotas.refuse(a.Owner)
	for _, key := range places(a) {
		if !l.restOn(key) {
			l.forget(key)
		}
	}
}

// choose takes what is wanted in memory, beside what is held or was chosen before it of the same request.
func (l *Ledger) choose(in Intent, beside []network.Allocation, attempt int) (network.Allocation, error) {
	of := l.pools[in.Pool]
	if of == nil {
		return network.Allocation{}, fmt.Errorf("%w %q", network.ErrUnknownPool, in.Pool)
	}
	names, err := l.quotas.check(in)
	if err != nil {
		return network.Allocation{}, err
	}
	a := network.Allocation{
		Owner: in.Owner, Pool: in.Pool, State: in.State, Since: in.Now.UTC(), Holder: in.Holder, Trunk: in.Trunk, Quotas: names,
		Cloud: in.Cloud, Together: in.Together,
	}
	if attempt > 0 {
		l.jump(in, of, attempt)
	}
	rested, err := l.takeAll(in, of, &a)
	if err == nil && of.LastVLAN > 0 {
		a.VLAN, err = l.chooseVLAN(in, of, rested)
	}
	if err == nil && len(of.MACPrefix) > 0 && len(a.Addresses) > 0 {
		a.MAC, err = l.chooseMAC(in, of, a.Addresses[0], beside, attempt)
	}
	if err != nil {
		l.drop(a)
		return network.Allocation{}, err
	}
	l.quotas.choose(a)
	return a, nil
}

// chooseMAC makes the MAC address that goes with an address: the first, from an attempt on, that nothing beside it has. Those of other requests are not
// known in memory: the commit says when one is taken.
func (l *Ledger) chooseMAC(in Intent, of *pool, address netip.Addr, beside []network.Allocation, attempt int) (network.HardwareAddr, error) {
	for further := range maximumAttempts {
		mac := network.HardwareAddr(allocator.MAC(of.MACPrefix, address, attempt+further))
		if !slices.ContainsFunc(beside, func(a network.Allocation) bool { return bytes.Equal(a.MAC, mac) }) {
			l.again(in, macKey(mac))
			return mac, nil
		}
	}
	return nil, fmt.Errorf("%w: %d MAC addresses for %s, by others of the same request", network.ErrTaken, maximumAttempts, address)
}

// jump lets choices begin elsewhere, after another server has made the same ones: otherwise both would go on making them.
func (l *Ledger) jump(in Intent, of *pool, attempt int) {
	seed := maphash.String(l.owners.seed, in.Owner.Key+"/"+strconv.Itoa(attempt))
	for _, index := range of.indexes {
		index.Jump(seed)
	}
	if of.LastVLAN > 0 {
		l.trunk(in.Trunk).Jump(of.FirstVLAN, of.LastVLAN, seed)
	}
}

// chooseVLAN takes the VLAN that went with addresses that rested, or one that is free.
func (l *Ledger) chooseVLAN(in Intent, of *pool, rested bool) (uint16, error) {
	if rested {
		if id, ok := l.sameVLAN(in, of); ok {
			return id, nil
		}
	}
	id, ok := l.trunk(in.Trunk).Choose(of.FirstVLAN, of.LastVLAN)
	if !ok {
		return 0, l.noVLAN(of, in.Trunk)
	}
	return id, nil
}

// takeAll takes the addresses: those that were asked for, and one of each other family. Rested says that one of them rested.
func (l *Ledger) takeAll(in Intent, of *pool, a *network.Allocation) (rested bool, err error) {
	named := map[int]bool{}
	for _, address := range in.Addresses {
		i, err := of.subnet(address)
		if err != nil {
			return rested, err
		}
		if named[i] {
			return rested, fmt.Errorf("%w: two addresses of one family were asked for", network.ErrOutside)
		}
		named[i] = true
		again, err := l.takeNamed(in, of, i, address)
		if err != nil {
			return rested, err
		}
		rested = rested || again
		a.Addresses = append(a.Addresses, address)
	}
	return rested, of.take(in, a, named)
}

// take takes an address of each family that is wanted and not named.
func (p *pool) take(in Intent, a *network.Allocation, named map[int]bool) error {
	for i, subnet := range p.Subnets {
		if named[i] || !in.wants(subnet.Prefix.Addr().BitLen()) {
			continue
		}
		address, ok := p.indexes[i].Choose()
		if !ok {
			return noAddress(p.Name, subnet.Prefix)
		}
		a.Addresses = append(a.Addresses, address)
	}
	if len(a.Addresses) == 0 && len(p.Subnets) > 0 {
		return fmt.Errorf("%w: the pool %s has no subnet of the family", network.ErrOutside, p.Name)
	}
	return nil
}

// noAddress is the error of a pool of which all addresses of a part are taken.
func noAddress(pool string, part netip.Prefix) error {
	return &network.Exhausted{Pool: pool, Of: network.OfFamily(part.Addr().BitLen()), Text: fmt.Sprintf("the pool %s has no free address in %s", pool, part)}
}

func (in Intent) wants(family int) bool {
	if in.Families == nil {
		return true
	}
	for _, wanted := range in.Families {
		if wanted == family {
			return true
		}
	}
	return false
}
