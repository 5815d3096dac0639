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
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// Ledger gives out of pools, and remembers. It is safe for concurrent use.
type Ledger struct {
	store Store
	// shared is the store where several servers share it, and nil otherwise.
	shared Watcher
	// owners serializes what is done for one owner.
	owners keyed

	recent recent
	// changing is held for reading while something is chosen and written, and for writing while the pools are exchanged: so that nothing
	// that was chosen out of the old ones is written when the new ones hold.
	changing sync.RWMutex

	// mutex guards what is known in memory. It is never held while the store works.
	mutex   sync.Mutex
	pools   map[string]*pool
	vlans   map[network.Trunk]*allocator.VLANs
	resting resting
	// roused are rows that rest and that were chosen again for who had them last, until that is written; see again.
	roused map[string]rest
	quotas quotas
	// doubts are the keys of rows of which it is not known how they are, with a number of the doubt; see doubt.
	doubts  map[string]uint64
	doubted uint64
	strays  strays
	// accepted says that the pools were configured, and that nothing that is outside of them was refused.
	accepted bool
	// following is what was told of a shared store, and nil while nobody follows.
	following *following
}

// Open reads what is taken from a store. Rows of pools that are not among the given ones stay untouched, and no pool gives their addresses.
func Open(ctx context.Context, store Store, pools ...Pool) (*Ledger, error) {
	made, err := newPools(pools)
	if err != nil {
		return nil, err
	}
	l := &Ledger{store: store, pools: made, strays: strays{}, vlans: map[network.Trunk]*allocator.VLANs{}}
	l.shared, _ = store.(Watcher)
	if err := l.checkFormat(ctx); err != nil {
		return nil, err
	}
	var reading errgroup.Group
	reading.Go(func() error { return l.readPlaces(ctx) })
	reading.Go(func() error {
		return store.Scan(ctx, prefixOwner, func(key, value []byte) error { return l.readOwner(string(key), value) })
	})
	if err := reading.Wait(); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return l, nil
}

// readPlaces reads what is taken, and what rests. By whom something is held is nothing that memory has to know.
func (l *Ledger) readPlaces(ctx context.Context) error {
	for prefix, read := range map[string]func(key string, p place) error{
		prefixAddress: l.readAddress, prefixVLAN: l.readVLAN, prefixMAC: l.readMAC,
	} {
		err := l.store.Scan(ctx, prefix, func(key, value []byte) error {
			var p place
			if len(value) == 0 || value[0] != placeOwned {
				var err error
				if p, err = parsePlace(value); err != nil {
					return fmt.Errorf("reading the row %s: %w", key, err)
				}
			}
			return read(string(key), p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkFormat reads the version of the rows, and writes it into an empty store.
func (l *Ledger) checkFormat(ctx context.Context) error {
	err := l.agreeOnFormat(ctx)
	if errors.Is(err, ErrConflict) {
		err = l.agreeOnFormat(ctx) // another server, which was started at the same time, has written it
	}
	if err != nil {
		return fmt.Errorf("opening the ledger: %w", err)
	}
	return nil
}

func (l *Ledger) agreeOnFormat(ctx context.Context) error {
	found, err := l.store.Get(ctx, keyFormat)
	if err != nil {
		return err
	}
	fresh, err := readFormat(found)
	if err == nil && fresh {
		err = l.store.Commit(ctx, Change{Key: keyFormat, Value: []byte(format)})
	}
	return err
}

func (l *Ledger) readAddress(key string, p place) error {
	name, address, err := parseAddress(key)
	if err != nil {
		return err
	}
	l.takeAddress(name, address)
	l.rest(key, p)
	return nil
}

func (l *Ledger) readVLAN(key string, p place) error {
	trunk, id, err := parseVLAN(key)
	if err != nil {
		return err
	}
	l.trunk(trunk).Take(id)
	l.rest(key, p)
	return nil
}

func (l *Ledger) readMAC(key string, p place) error {
	l.rest(key, p)
	return nil
}

func (l *Ledger) trunk(t network.Trunk) *allocator.VLANs {
	if l.vlans[t] == nil {
		l.vlans[t] = &allocator.VLANs{}
	}
	return l.vlans[t]
}

// Shared says whether other servers may write into the same store.
func (l *Ledger) Shared() bool {
	_, shared := l.store.(Watcher)
	return shared
}

// Get is what an owner holds. The error wraps network.ErrNotHeld when it is nothing.
func (l *Ledger) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	a, _, err := l.get(ctx, owner)
	return a, err
}

func (l *Ledger) get(ctx context.Context, owner network.Owner) (network.Allocation, []byte, error) {
	if known, ok := l.known(owner); ok {
		return known.allocation, known.raw, nil
	}
	raw, err := l.store.Get(ctx, ownerKey(owner))
	if err != nil {
		return network.Allocation{}, nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if raw == nil {
		return network.Allocation{}, nil, network.ErrNotHeld
	}
	a, err := decode(raw)
	return a, raw, err
}

// At is the allocation that an address belongs to. The error wraps network.ErrNotHeld when it is free or rests.
func (l *Ledger) At(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	raw, err := l.store.Get(ctx, addressKey(pool, address))
	if err != nil {
		return network.Allocation{}, fmt.Errorf("reading the ledger: %w", err)
	}
	if raw == nil {
		return network.Allocation{}, network.ErrNotHeld
	}
	p, err := parsePlace(raw)
	if err != nil {
		return network.Allocation{}, fmt.Errorf("reading the ledger: %w", err)
	}
	if !p.until.IsZero() {
		return network.Allocation{}, network.ErrNotHeld
	}
	a, err := l.Get(ctx, p.owner)
	if err == nil && (a.Pool != pool || !slices.Contains(a.Addresses, address)) {
		// Between the two reads it was given back, and the owner has got something else.
		return network.Allocation{}, network.ErrNotHeld
	}
	return a, err
}

// All calls each for every allocation, in the order of the owners, until it returns an error.
func (l *Ledger) All(ctx context.Context, each func(network.Allocation) error) error {
	return l.store.Scan(ctx, prefixOwner, func(key, value []byte) error {
		a, err := decode(value)
		if err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
		return each(a)
	})
}

// Unfinished is All for the allocations that are not bound. It decodes no others: there may be very many.
func (l *Ledger) Unfinished(ctx context.Context, each func(network.Allocation) error) error {
	return l.store.Scan(ctx, prefixOwner, func(key, value []byte) error {
		if isBound(value) {
			return nil
		}
		a, err := decode(value)
		if err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
		return each(a)
	})
}

// Taken is how many addresses of a pool are held or rest.
func (l *Ledger) Taken(pool string) uint64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := l.pools[pool]
	if of == nil {
		return 0
	}
	var count uint64
	for _, index := range of.indexes {
		count += index.Len()
	}
	return count
}

// maximumIdle is how many trunks without VLANs are remembered, so that the next VLAN is not the one that was given back last.
const maximumIdle = 4096

// forget marks what stands under a key as free, in memory.
func (l *Ledger) forget(key string) {
	switch {
	case strings.HasPrefix(key, prefixAddress):
		if name, address, err := parseAddress(key); err == nil {
			l.freeAddress(name, address)
		}
	case strings.HasPrefix(key, prefixVLAN):
		trunk, id, err := parseVLAN(key)
		of := l.vlans[trunk]
		if err != nil || of == nil {
			return
		}
		if of.Free(id); of.Len() == 0 && len(l.vlans) > maximumIdle {
			delete(l.vlans, trunk)
		}
	}
}

// rest remembers a row that rests; one that is owned does not.
func (l *Ledger) rest(key string, p place) {
	if !p.until.IsZero() {
		l.resting.add(rest{key: key, until: p.until, due: p.until, last: p.owner})
	}
}
