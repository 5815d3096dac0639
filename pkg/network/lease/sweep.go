// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Run sweeps now and then until the context ends.
func (l *Leases) Run(ctx context.Context) {
	ticker := l.options.Clock.NewTicker(l.options.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
				l.options.Report(err)
			}
		}
	}
}

// Sweep frees addresses that came out of leases which are gone for longer than the grace: their client has given back the pool, and not them. What is
// freed is reported.
func (l *Leases) Sweep(ctx context.Context) error {
	now := l.options.Clock.Now()
	missing := map[network.Owner]time.Time{}
	var errs []error
	for _, s := range []*space{l.local, l.global} {
		if err := l.sweep(ctx, s, now, missing); err != nil {
			errs = append(errs, fmt.Errorf("looking for addresses without a lease: %w", err))
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.gone = missing
	return errors.Join(errs...)
}

// sweep looks through a space. What is missing its lease is noted with the time since when.
func (l *Leases) sweep(ctx context.Context, s *space, now time.Time, missing map[network.Owner]time.Time) error {
	held, err := l.options.Service.Owned(ctx, s.beginning())
	if err != nil {
		return err
	}
	leases, err := s.all(ctx) // after the addresses: what was given since then has a lease
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range held {
		id, _, is := s.held(a.Owner)
		if !is || a.State == network.Releasing || s.leased(a, leases[id]) {
			continue
		}
		l.mutex.Lock()
		since, known := l.gone[a.Owner]
		l.mutex.Unlock()
		if !known {
			since = now
		}
		if missing[a.Owner] = since; now.Sub(since) < l.options.Grace {
			continue
		}
		if err := l.free(ctx, s, a); err != nil {
			errs = append(errs, fmt.Errorf("freeing what %s holds: %w", a.Owner, err))
		}
	}
	return errors.Join(errs...)
}

// leased says whether an address is of a lease as it is now, and not of an earlier one of the same identifier.
func (s *space) leased(a network.Allocation, p Pool) bool {
	if s.shared || p.ID == "" {
		return p.ID != ""
	}
	of := wordLease + p.Term + "/"
	return slices.ContainsFunc(a.Holder.Aliases, func(word string) bool { return strings.HasPrefix(word, of) })
}

// free releases an address whose lease is gone, unless somebody still has it, or has asked for it again.
func (l *Leases) free(ctx context.Context, s *space, a network.Allocation) error {
	id, address, _ := s.held(a.Owner)
	if l.options.Holds != nil {
		if has, err := l.options.Holds(ctx, s.name, address); err != nil || has {
			return err
		}
	}
	freed := false
	l.mutex.Lock()
	defer l.mutex.Unlock()
	p, _, err := s.table.Get(ctx, id)
	if err != nil || s.leased(a, p) {
		return err
	}
	err = l.options.Service.Quit(ctx, a.Owner, func(h *network.Holder) (own, over bool) {
		freed = h.UID == a.Holder.UID && slices.Equal(h.Aliases, a.Holder.Aliases)
		return freed, freed
	})
	if err == nil && freed {
		l.options.Report(fmt.Errorf("freed %s of the pool %s: its lease %s ended, and it was not given back", address, a.Pool, id))
	}
	return err
}
