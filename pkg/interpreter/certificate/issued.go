// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Store keeps what is issued, for all who share it.
type Store interface {
	// Read gives what is kept; Data is empty where nothing is.
	Read(ctx context.Context) (Stored, error)
	// Write replaces what is kept, if that is still of the version; else the error is ErrConflict.
	Write(ctx context.Context, data map[string][]byte, version string) error
	// String names the store, for people.
	String() string
}

// Stored is what a store keeps, and its version; empty: there is none yet.
type Stored struct {
	Data    map[string][]byte
	Version string
}

// ErrConflict says that somebody else has written meanwhile.
var ErrConflict = errors.New("somebody else has written meanwhile")

// Options are those of an Issued.
type Options struct {
	Store  Store
	Policy Policy
	Clock  clock.PassiveClock
	Log    logr.Logger
}

// Issued is a Source that issues what it serves. Any number of them can share a store.
type Issued struct {
	Options
	own names
	// mutex lets one at a time read and write.
	mutex   sync.Mutex
	current atomic.Pointer[adopted]
}

// adopted is what is served, and what that comes from.
type adopted struct {
	kept *kept
	held *Held
}

// NewIssued begins with nothing: Refresh reads what is kept, or issues it.
func NewIssued(o Options) (*Issued, error) {
	i := &Issued{Options: o, own: names{dns: slices.Clone(o.Policy.DNSNames)}}
	for _, text := range o.Policy.Addresses {
		address := net.ParseIP(text)
		if address == nil {
			return nil, fmt.Errorf("%q is no address", text)
		}
		i.own.addresses = append(i.own.addresses, address)
	}
	if len(i.own.dns)+len(i.own.addresses) == 0 {
		return nil, errors.New("a certificate needs a name or an address by which callers know the server")
	}
	return i, nil
}

// Held implements Source.
func (i *Issued) Held() *Held {
	if now := i.current.Load(); now != nil {
		return now.held
	}
	return nil
}

// attempts are how often it is begun again when others write at the same time.
const attempts = 5

// Refresh implements Source.
func (i *Issued) Refresh(ctx context.Context) error {
	return i.change(ctx, func(k *kept) (*kept, []string, error) {
		var did []string
		for {
			next, what, err := i.Policy.step(k, i.own, i.Clock.Now())
			if err != nil {
				return nil, nil, err
			}
			if what == "" {
				return k, did, nil
			}
			k, did = next, append(did, what)
		}
	})
}

// Registered implements Source: it writes down when callers were told of the next authority, so that all replicas know.
func (i *Issued) Registered(ctx context.Context, bundle []byte) error {
	if now := i.current.Load(); now == nil || !untold(now.kept, bundle) {
		return nil
	}
	return i.change(ctx, func(k *kept) (*kept, []string, error) {
		if k == nil || !untold(k, bundle) {
			return k, nil, nil
		}
		next := *k
		next.known = i.Clock.Now()
		return &next, []string{"Callers know the next authority"}, nil
	})
}

// untold says whether callers know the next authority, and that is not written down.
func untold(k *kept, bundle []byte) bool {
	return k.next != nil && k.known.IsZero() && contains(parseAll(bundle), k.next.Certificate)
}

// change reads, changes and writes, until nobody comes between. What was read or written is served.
func (i *Issued) change(ctx context.Context, to func(*kept) (*kept, []string, error)) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for range attempts {
		stored, err := i.Store.Read(ctx)
		if err != nil {
			return fmt.Errorf("reading %s: %w", i.Store, err)
		}
		before, err := decode(stored.Data)
		if err != nil {
			return fmt.Errorf("%s is not as it was written; where it is deleted, all is issued anew: %w", i.Store, err)
		}
		next, did, err := to(before)
		if err != nil {
			return err
		}
		if len(did) > 0 {
			if err = i.write(ctx, next, stored.Version); errors.Is(err, ErrConflict) {
				continue
			}
		}
		if err != nil {
			i.adopt(before) // others may have written it
			return err
		}
		for _, what := range did {
			i.Log.Info(what, "store", i.Store.String())
		}
		i.adopt(next)
		return nil
	}
	return fmt.Errorf("writing %s: %w", i.Store, ErrConflict)
}

func (i *Issued) write(ctx context.Context, k *kept, version string) error {
	data, err := k.encode()
	if err == nil {
		err = i.Store.Write(ctx, data, version)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", i.Store, err)
	}
	return nil
}

// adopt serves what is kept.
func (i *Issued) adopt(k *kept) {
	if k != nil {
		i.current.Store(&adopted{k, k.held()})
	}
}
