// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// had says whether an owner is one whose resting addresses the intent may have by name.
func (in Intent) had(last network.Owner) bool {
	kin := last.Key == in.Kin || strings.HasSuffix(in.Kin, "/") && strings.HasPrefix(last.Key, in.Kin)
	return kin && last.Contract == in.Owner.Contract
}

// again takes what rests for who had it last; false where it does not rest, or somebody else had it. It is roused until the choice is written or
// dropped: nobody else gets it, and its rest does not end meanwhile. The mutex is held.
func (l *Ledger) again(in Intent, key string) bool {
	row, rests := l.resting.at(key)
	if !rests || !in.had(row.last) {
		return false
	}
	l.resting.remove(key)
	if l.roused == nil {
		l.roused = map[string]rest{}
	}
	l.roused[key] = row
	return true
}

// takeNamed takes an address that was asked for by name, and says whether it rested. The mutex is held.
func (l *Ledger) takeNamed(in Intent, of *pool, i int, address netip.Addr) (rested bool, err error) {
	if of.indexes[i].Take(address) {
		return false, nil
	}
	key := addressKey(of.Name, address)
	if _, blocked := of.blocked[address]; !blocked {
		if l.again(in, key) {
			return true, nil
		}
		if _, doubted := l.doubts[key]; !doubted {
			if over := l.resting.await(key); over != nil {
				return false, &waking{address, over}
			}
		}
	}
	if row, rests := l.resting.at(key); rests {
		return false, takenAtRest(address, row.until)
	}
	return false, fmt.Errorf("%w: %s", network.ErrTaken, address)
}

// waking is the error of an address that was asked for by name while its rest is being ended: when that is over, it is free, or rests on.
type waking struct {
	address netip.Addr
	// over is closed then, or when the store must be asked what has become of it.
	over <-chan struct{}
}

// Error implements error.
func (w *waking) Error() string {
	return fmt.Sprintf("%s: %s, whose rest is being ended", network.ErrTaken, w.address)
}

// Unwrap says that it is taken.
func (w *waking) Unwrap() error { return network.ErrTaken }

// await waits until an address is not waking any more, where it was refused for that; then there is no error, and it can be asked for again. Who waits
// holds no lock, as the store may take as long as it likes.
func await(ctx context.Context, refused error) error {
	var of *waking
	if !errors.As(refused, &of) {
		return refused
	}
	select {
	case <-of.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of the rest of %s: %w", of.address, ctx.Err())
	}
}

// takenAtRest is the error of an address that rests.
func takenAtRest(address netip.Addr, until time.Time) error {
	return fmt.Errorf("%w: %s, which rests until %s after its release", network.ErrTaken, address, until.UTC().Format(time.RFC3339))
}

// sameVLAN takes the VLAN that rests of who had an address that was given again; false where there is none. The mutex is held.
func (l *Ledger) sameVLAN(in Intent, of *pool) (uint16, bool) {
	for id := of.FirstVLAN; id <= of.LastVLAN; id++ {
		if l.again(in, vlanKey(in.Trunk, id)) {
			return id, true
		}
	}
	return 0, false
}

// restOn lets what was roused rest on, as the choice is not written; false where nothing rests. The mutex is held.
func (l *Ledger) restOn(keys ...string) (roused bool) {
	for _, key := range keys {
		row, is := l.roused[key]
		if is {
			delete(l.roused, key)
			l.resting.add(row)
		}
		_, rests := l.resting.rows[key]
		roused = roused || is || rests
	}
	return roused
}

// expected completes changes that write what was roused: the rows must be as they rested.
func (l *Ledger) expected(changes []Change) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, change := range changes {
		if row, is := l.roused[change.Key]; is {
			changes[i].Was = row.row()
		}
	}
}

// awake notes that what was roused is written. The mutex is held.
func (l *Ledger) awake(keys ...string) {
	for _, key := range keys {
		delete(l.roused, key)
	}
}
