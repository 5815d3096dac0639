// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Intent is what an owner wants.
type Intent struct {
	Owner network.Owner
	Pool  string
	// Addresses are asked for by name; a family of the pool that none of them is of is chosen.
	Addresses []netip.Addr
	// Families are those that are wanted beside Addresses, by their length in bits; nil: all of the pool.
	Families []int
	// Kin is the key of the owner of the same contract, or with a slash at its end the beginning of the keys of those, whose addresses it is given by
	// name while they rest; empty: nobody's, not even those that it had itself.
	Kin    string
	Trunk  network.Trunk
	Holder network.Holder
	// Together is that of the allocation.
	Together network.Owner
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
// whose results are empty. While the rest of an address that is asked for by name is being ended, it waits for that, as long as ctx allows.
func (l *Ledger) ReserveAll(ctx context.Context, intents []Intent) (all []network.Allocation, fresh []bool, err error) {
	owners, err := distinct(intents)
	if err != nil {
		return nil, nil, err
	}
	for {
		if all, fresh, err = l.reserveAll(ctx, owners, intents); err == nil {
			return all, fresh, nil
		}
		if err := await(ctx, err); err != nil {
			return nil, nil, err
		}
	}
}

// reserveAll is ReserveAll, which does not wait for what is waking.
func (l *Ledger) reserveAll(ctx context.Context, owners []network.Owner, intents []Intent) (all []network.Allocation, fresh []bool, err error) {
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

// distinct are the owners, which must be different, and such that their rows can be read again.
func distinct(intents []Intent) ([]network.Owner, error) {
	owners := make([]network.Owner, len(intents))
	for i, in := range intents {
		if !in.Owner.Valid() {
			return nil, fmt.Errorf("%q is not an owner", in.Owner)
		}
		if strings.Contains(in.Trunk.Node+in.Trunk.MAC, "/") {
			return nil, errors.New("the trunk has a slash in its names")
		}
		if slices.Contains(owners[:i], in.Owner) {
			return nil, fmt.Errorf("the owner %s wants two allocations at once", in.Owner)
		}
		owners[i] = in.Owner
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
		known, ok := l.known(in.Owner)
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
		if changes == nil {
			changes = rows
		} else {
			changes = append(changes, rows...)
		}
	}
	l.expected(changes)
	var err error
	if l.shared != nil {
		err = l.commit(ctx, changes...)
	} else {
		err = l.store.Commit(ctx, changes...) // memory says so already
	}
	for i, a := range all {
		if fresh[i] {
			l.remember(a, changes[begins[i]].Value, err)
			if err == nil && l.shared == nil {
				l.mutex.Lock()
				l.written(a)
				l.mutex.Unlock()
			}
		}
	}
	return err
}
