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

// Store keeps issued certificates for all replicas.
type Store interface {
	// Read returns the stored data. Data is empty if nothing is stored.
	Read(ctx context.Context) (Stored, error)
	// Write replaces the data if its version is still the given one. Otherwise it returns ErrConflict.
	Write(ctx context.Context, data map[string][]byte, version string) error
	// String returns a description for people.
	String() string
}

// Stored is the content of a store. Version is empty if nothing is stored.
type Stored struct {
	Data    map[string][]byte
	Version string
}

// ErrConflict means that another program changed the store since it was read.
var ErrConflict = errors.New("the store was changed by another program since it was read")

// Options configure an Issued.
type Options struct {
	Store  Store
	Policy Policy
	Clock  clock.PassiveClock
	Log    logr.Logger
}

// Issued is a Source that issues its certificates. Any number of instances can share a store.
type Issued struct {
	Options
	own []string
	// mutex serializes changes of the store.
	mutex   sync.Mutex
	current atomic.Pointer[adopted]
}

// adopted is the current state: as stored, and as served.
type adopted struct {
	kept *kept
	held *Held
}

// NewIssued returns an empty source. Call Refresh to read or issue a certificate. It fails if the policy has no
// name, or an invalid address.
func NewIssued(o Options) (*Issued, error) {
	i := &Issued{Options: o, own: slices.Clone(o.Policy.DNSNames)}
	for _, text := range o.Policy.Addresses {
		address := net.ParseIP(text)
		if address == nil {
			return nil, fmt.Errorf("%q is not an IP address", text)
		}
		i.own = append(i.own, address.String())
	}
	if len(i.own) == 0 {
		return nil, errors.New("a certificate needs the host name or the address of the server")
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

// attempts limits retries after conflicts.
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

// Registered implements Source. It stores the time when callers first trusted the next authority, for all
// replicas.
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

// untold reports whether callers trust the next authority without this being stored yet.
func untold(k *kept, bundle []byte) bool {
	return k.next != nil && k.known.IsZero() && contains(parseAll(bundle), k.next.Certificate)
}

// change reads, changes and writes the store, and retries after a conflict. The result is served.
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
			return fmt.Errorf("%s is damaged; delete it to issue new certificates: %w", i.Store, err)
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
			i.adopt(before) // another replica may have written it
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

// adopt serves k, if it is not nil.
func (i *Issued) adopt(k *kept) {
	if k != nil {
		i.current.Store(&adopted{k, k.held()})
	}
}
