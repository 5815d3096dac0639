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
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// Intent is what an owner wants.
type Intent struct {
	Owner network.Owner
	Pool  string
	// Addresses are asked for by name; a family of the pool that none of them is of is chosen.
	Addresses []netip.Addr
	// Families are those that are wanted beside Addresses, by their length in bits; nil: all of the pool.
	Families []int
	// Kin begins the keys of owners, of the same contract, whose addresses it is given by name while they rest, as it is given those that it
	// had itself; empty: nobody else's.
	Kin    string
	Trunk  network.Trunk
	Holder network.Holder
	// Quotas are those of the pool that it counts for.
	Quotas []Quota
	// Cloud is the name of the cloud that is asked; empty: none is.
	Cloud string
	// State is Intended, or Bound where no cloud must be asked.
	State network.State
	// Now is the time of the choice.
	Now time.Time
}

// maximumAttempts bounds how often a choice is made anew that another server, which shares the store, made at the same time.
const maximumAttempts = 64

// Reserve gives an owner what it wants, all or nothing. An owner that holds something already is given that, whatever its
// state, and false. The errors wrap network.ErrUnknownPool, ErrOutside, ErrTaken, ErrQuota or ErrExhausted.
func (l *Ledger) Reserve(ctx context.Context, in Intent) (a network.Allocation, fresh bool, err error) {
	all, made, err := l.ReserveAll(ctx, []Intent{in})
	if err != nil {
		return network.Allocation{}, false, err
	}
	return all[0], made[0], nil
}

// ReserveAll gives several owners, each another one, what they want: all of them in one commit, or none. The results are in the order of
// the intents, and so is which of them are fresh; see Reserve. While one of them is giving something back, nothing is chosen for the others,
// whose results are empty.
func (l *Ledger) ReserveAll(ctx context.Context, intents []Intent) (all []network.Allocation, fresh []bool, err error) {
	owners, err := distinct(intents)
	if err != nil {
		return nil, nil, err
	}
	defer l.owners.lock(owners...)()
	l.changing.RLock()
	defer l.changing.RUnlock()
	for attempt := range maximumAttempts {
		all, fresh, err = l.heldOrNew(ctx, intents, attempt)
		if err != nil || !slices.Contains(fresh, true) {
			return all, fresh, err
		}
		if slices.ContainsFunc(all, func(a network.Allocation) bool { return a.State == network.Releasing }) {
			return all, make([]bool, len(all)), nil
		}
		if err := l.chooseSettled(ctx, intents, all, fresh, attempt); err != nil {
			if l.overtaken(ctx, intents, fresh) {
				continue
			}
			return nil, nil, err
		}
		switch err := l.write(ctx, all, fresh); {
		case err == nil:
			return all, fresh, nil
		case !errors.Is(err, ErrConflict):
			return l.inDoubt(ctx, intents, all, fresh, err)
		}
		if err := l.resolveAll(ctx, intents, all, fresh); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%w: others were quicker %d times", network.ErrTaken, maximumAttempts)
}

// overtaken says whether another server has given something to one of the owners since it was asked what they hold: then that may be what is in
// the way.
func (l *Ledger) overtaken(ctx context.Context, intents []Intent, fresh []bool) bool {
	if l.shared == nil {
		return false
	}
	_, now, err := l.held(ctx, intents)
	return err == nil && !slices.Equal(fresh, now)
}

// distinct are the keys of the owners, which must be different, and such that their rows can be read again.
func distinct(intents []Intent) ([]string, error) {
	owners := make([]string, len(intents))
	for i, in := range intents {
		if owner, err := network.ParseOwner(in.Owner.String()); err != nil || owner != in.Owner {
			return nil, fmt.Errorf("%q is not an owner", in.Owner)
		}
		if strings.Contains(in.Trunk.Node+in.Trunk.MAC, "/") {
			return nil, errors.New("the trunk has a slash in its names")
		}
		key := ownerKey(in.Owner)
		if slices.Contains(owners[:i], key) {
			return nil, fmt.Errorf("the owner %s wants two allocations at once", in.Owner)
		}
		owners[i] = key
	}
	return owners, nil
}

// heldOrNew is held. At first, all of whom memory does not know that they hold something are taken for new, in a shared store, where a read takes as
// long as a commit, and where there is so much room that a choice in vain takes nothing from anybody: the commit says when they are not.
func (l *Ledger) heldOrNew(ctx context.Context, intents []Intent, attempt int) (all []network.Allocation, fresh []bool, err error) {
	if attempt > 0 || l.shared == nil && !l.roomy(intents) {
		return l.held(ctx, intents)
	}
	all, fresh = make([]network.Allocation, len(intents)), make([]bool, len(intents))
	for i, in := range intents {
		known, ok := l.recent.find(ownerKey(in.Owner))
		all[i], fresh[i] = known.allocation, !ok
	}
	return all, fresh, nil
}

// held is what owners hold already; fresh are those that hold nothing.
func (l *Ledger) held(ctx context.Context, intents []Intent) (all []network.Allocation, fresh []bool, err error) {
	all, fresh = make([]network.Allocation, len(intents)), make([]bool, len(intents))
	for i, in := range intents {
		all[i], err = l.Get(ctx, in.Owner)
		if fresh[i] = errors.Is(err, network.ErrNotHeld); err != nil && !fresh[i] {
			return nil, nil, err
		}
	}
	return all, fresh, nil
}

// ample is how much room a pool must have so that a choice which may have to be taken back takes nothing from anybody.
const ample = 1 << 14

// roomy says that the pools have ample room, and that nothing else is scarce.
func (l *Ledger) roomy(intents []Intent) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, in := range intents {
		of := l.pools[in.Pool]
		if of == nil || len(in.Addresses) > 0 || len(in.Quotas) > 0 || of.LastVLAN > 0 {
			return false
		}
		for _, index := range of.indexes {
			if index.Room() < ample {
				return false
			}
		}
	}
	return true
}

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
		if all[i], err = l.choose(in, attempt); err != nil {
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

// choose takes what is wanted in memory.
func (l *Ledger) choose(in Intent, attempt int) (network.Allocation, error) {
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
		Cloud: in.Cloud,
	}
	if attempt > 0 {
		l.jump(in, of, attempt)
	}
	rested, err := l.takeAll(in, of, &a)
	if err == nil && of.LastVLAN > 0 {
		a.VLAN, err = l.chooseVLAN(in, of, rested)
	}
	if err != nil {
		l.drop(a)
		return network.Allocation{}, err
	}
	if len(of.MACPrefix) > 0 && len(a.Addresses) > 0 {
		a.MAC = allocator.MAC(of.MACPrefix, a.Addresses[0], attempt)
		l.again(in, macKey(a.MAC))
	}
	l.quotas.choose(a)
	return a, nil
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
			return fmt.Errorf("%w: the pool %s has no free address in %s", network.ErrExhausted, p.Name, subnet.Prefix)
		}
		a.Addresses = append(a.Addresses, address)
	}
	if len(a.Addresses) == 0 && len(p.Subnets) > 0 {
		return fmt.Errorf("%w: the pool %s has no subnet of the family", network.ErrOutside, p.Name)
	}
	return nil
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

// write commits the rows of fresh allocations.
func (l *Ledger) write(ctx context.Context, all []network.Allocation, fresh []bool) error {
	var changes []Change
	begins := make([]int, len(all)) // of the rows of each, of which the first is the owner's
	for i, a := range all {
		if begins[i] = len(changes); !fresh[i] {
			continue
		}
		rows, err := Rows(a)
		if err != nil {
			return err
		}
		changes = append(changes, rows...)
	}
	l.expected(changes)
	if l.shared != nil {
		return l.commit(ctx, changes...)
	}
	err := l.store.Commit(ctx, changes...) // memory says so already
	for i, a := range all {
		if fresh[i] {
			l.remember(a, changes[begins[i]].Value, err)
			if err == nil {
				l.mutex.Lock()
				l.awake(places(a)...)
				l.mutex.Unlock()
			}
		}
	}
	return err
}

// resolveAll finds out whose rows stood in the way of a commit, for all that was chosen, and forgets the choice.
func (l *Ledger) resolveAll(ctx context.Context, intents []Intent, all []network.Allocation, fresh []bool) error {
	var refused error
	for i, in := range intents {
		if !fresh[i] {
			continue
		}
		if err := l.resolve(ctx, in, all[i]); err != nil && refused == nil {
			refused = err
		}
	}
	return refused
}

// resolve finds out whose rows stood in the way. What others hold stays taken in memory; the rest of the choice is free again.
// The error is of an address that was asked for by name, or of a store that cannot say.
func (l *Ledger) resolve(ctx context.Context, in Intent, a network.Allocation) error {
	l.mutex.Lock()
	l.quotas.refuse(a.Owner)
	l.restOn(places(a)...)
	l.doubt(places(a)...)
	number := l.doubted
	l.mutex.Unlock()
	var refused error
	for _, key := range places(a) {
		raw, err := l.store.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		if err := l.learn(key, number, raw); err != nil {
			return err
		}
		if raw == nil || bytes.Equal(raw, place{owner: in.Owner}.encode()) {
			continue // another server has given it to the same owner: that is found next
		}
		for _, address := range in.Addresses {
			if key == addressKey(in.Pool, address) {
				refused = fmt.Errorf("%w: %s", network.ErrTaken, address)
				if p, err := parsePlace(raw); err == nil && !p.until.IsZero() {
					if refused = takenAtRest(address, p.until); in.had(p.owner) {
						refused = nil // it is given again, once that is known
					}
				}
			}
		}
	}
	return refused
}

// inDoubt finds out whether a commit that failed was made all the same. When that cannot be found out, what was chosen stays
// taken in memory: it is given to nobody else before the store can say.
func (l *Ledger) inDoubt(ctx context.Context, intents []Intent, chosen []network.Allocation, fresh []bool, cause error) ([]network.Allocation, []bool, error) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	found, missing, err := l.held(ctx, intents)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, a := range chosen {
		switch {
		case !fresh[i]:
		case err == nil && missing[i] && l.shared != nil:
			// Another server may have taken some of it meanwhile, and that may have been told already.
			l.quotas.refuse(a.Owner)
			l.restOn(places(a)...)
			l.doubt(places(a)...)
		case err == nil && missing[i]:
			l.drop(a)
		case err != nil || !slices.Equal(places(a), places(found[i])):
			l.restOn(places(a)...)
			l.doubt(rowsOf(a)...)
		default:
			l.awake(places(a)...)
		}
	}
	if err == nil && !slices.Contains(missing, true) {
		return found, fresh, nil
	}
	return nil, nil, fmt.Errorf("writing the ledger: %w", cause)
}
