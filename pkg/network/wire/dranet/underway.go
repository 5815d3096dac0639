// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// underway are the allocations that are being made, by the UID of the claim: a request that calls the same device otherwise meanwhile must find
// them before the ledger has them.
type underway struct {
	// mutex guards all below it.
	mutex  sync.Mutex
	claims map[string]*work
}

// work is what is being done for a claim.
type work struct {
	// turn is held by the one request that looks which allocations there are.
	turn  chan struct{}
	users int
	made  []*making
}

type making struct {
	owner     network.Owner
	aliases   []string
	addresses []netip.Addr
	users     int
	// kept says that a request was given it, and doubted is what could not be given to one that has begun it; nil: there is nothing of the kind.
	kept    bool
	doubted *network.Allocation
}

// enter waits for the turn of a claim. Who has entered calls pass, and then leave.
func (u *underway) enter(ctx context.Context, claim string) (*work, error) {
	u.mutex.Lock()
	w := u.claims[claim]
	if w == nil {
		w = &work{turn: make(chan struct{}, 1)}
		u.claims[claim] = w
	}
	w.users++
	u.mutex.Unlock()
	select {
	case w.turn <- struct{}{}:
		return w, nil
	case <-ctx.Done():
		u.leave(claim, w)
		return nil, ctx.Err()
	}
}

// pass gives the turn to the next.
func (w *work) pass() { <-w.turn }

func (u *underway) leave(claim string, w *work) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if w.users--; w.users == 0 {
		delete(u.claims, claim)
	}
}

// candidates puts what is being made beside what the ledger has.
func (u *underway) candidates(w *work, held []network.Allocation) []candidate {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	var all []candidate
	for i := range held {
		a := &held[i]
		all = append(all, candidate{owner: a.Owner, aliases: a.Holder.Aliases, addresses: a.Addresses, held: a})
	}
	for _, m := range w.made {
		at := slices.IndexFunc(all, func(c candidate) bool { return c.owner == m.owner })
		if at < 0 {
			all = append(all, candidate{owner: m.owner, addresses: m.addresses})
			at = len(all) - 1
		}
		all[at].aliases = union(all[at].aliases, m.aliases)
	}
	return all
}

// begin notes that an allocation is being made, under these names too.
func (u *underway) begin(w *work, owner network.Owner, s search) *making {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	at := slices.IndexFunc(w.made, func(m *making) bool { return m.owner == owner })
	if at < 0 {
		w.made = append(w.made, &making{owner: owner, addresses: s.addresses})
		at = len(w.made) - 1
	}
	m := w.made[at]
	m.aliases, m.users = union(m.aliases, s.aliases()), m.users+1
	return m
}

// keep notes that a request was given what was made.
func (u *underway) keep(m *making) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	m.kept = true
}

// doubt notes that what was made could not be given.
func (u *underway) doubt(m *making, got network.Allocation) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	m.doubted = &got
}

// end notes the end of a request. With the last one of the device, what could be given to none is undone, before another request looks what there is.
func (u *underway) end(w *work, m *making, undo func(network.Allocation) error) error {
	if u.ended(w, m, false) {
		return nil
	}
	w.turn <- struct{}{}
	defer w.pass()
	var err error
	if !u.ended(w, m, false) { // nor has another one begun until it was this one's turn
		err = undo(*m.doubted)
		u.ended(w, m, true)
	}
	return err
}

// ended notes the end of a request, unless it is the last one and has something to undo that is not undone yet: then it is false.
func (u *underway) ended(w *work, m *making, undone bool) bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if m.users == 1 && m.doubted != nil && !m.kept && !undone {
		return false
	}
	if m.users--; m.users == 0 {
		w.made = slices.DeleteFunc(w.made, func(other *making) bool { return other == m })
	}
	return true
}

// union adds what is new to a list, of which nothing is changed.
func union(list, more []string) []string {
	all := slices.Clone(list)
	for _, item := range more {
		if !slices.Contains(all, item) {
			all = append(all, item)
		}
	}
	return all
}
