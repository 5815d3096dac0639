// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// maximumRecent bounds how many allocations are kept in memory: some megabytes.
const maximumRecent = 4096

// recent are allocations that were written lately, with their rows: who has got something mostly comes back soon. Only who holds the owner's lock
// writes it, so that nothing older takes the place of something newer. In a store that is nobody else's, they are what is there; in a shared one
// another server may have changed them, and a commit that expects the row finds out.
type recent struct {
	mutex sync.Mutex
	rows  map[network.Owner]written
}

// written is an allocation with its row.
type written struct {
	allocation network.Allocation
	raw        []byte
}

func (r *recent) find(owner network.Owner) (written, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	w, ok := r.rows[owner]
	return w, ok
}

// keep remembers an allocation; another one has to go when there are too many.
func (r *recent) keep(a network.Allocation, raw []byte) {
	// What is appended to them later belongs to somebody else.
	a.Addresses, a.Quotas = slices.Clip(a.Addresses), slices.Clip(a.Quotas)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.rows == nil {
		r.rows = map[network.Owner]written{}
	}
	if len(r.rows) >= maximumRecent {
		for other := range r.rows {
			delete(r.rows, other)
			break
		}
	}
	r.rows[a.Owner] = written{a, raw}
}

// known is what an owner holds, of which no other server can have made anything else.
func (l *Ledger) known(owner network.Owner) (written, bool) {
	if l.shared != nil {
		return written{}, false
	}
	return l.recent.find(owner)
}

func (r *recent) drop(owner network.Owner) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.rows, owner)
}

// remember keeps what was written for an owner, whose lock is held. After an error nothing is known.
func (l *Ledger) remember(a network.Allocation, raw []byte, err error) {
	if err == nil {
		l.recent.keep(a, raw)
	} else {
		l.recent.drop(a.Owner)
	}
}
