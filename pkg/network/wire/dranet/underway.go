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

// begin notes that an allocation is being made, under these names too; what it returns notes the end.
func (u *underway) begin(w *work, owner network.Owner, s search) (end func()) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	at := slices.IndexFunc(w.made, func(m *making) bool { return m.owner == owner })
	if at < 0 {
		w.made = append(w.made, &making{owner: owner, addresses: s.addresses})
		at = len(w.made) - 1
	}
	m := w.made[at]
	m.aliases, m.users = union(m.aliases, s.aliases()), m.users+1
	return func() {
		u.mutex.Lock()
		defer u.mutex.Unlock()
		if m.users--; m.users == 0 {
			w.made = slices.DeleteFunc(w.made, func(other *making) bool { return other == m })
		}
	}
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
