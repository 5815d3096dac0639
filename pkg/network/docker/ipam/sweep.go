// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Run sweeps periodically until the context ends.
func (l *Driver) Run(ctx context.Context) {
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

// Sweep releases addresses that have been unused for the grace period: those of ended leases, which the client
// did not release itself, and those that no network of the client has, because the client or this process was
// killed before they were used.
func (l *Driver) Sweep(ctx context.Context) error {
	now := l.options.Clock.Now()
	l.mutex.Lock()
	before := l.gone
	l.mutex.Unlock()
	gone := map[holding]time.Time{}
	var errs []error
	for _, s := range []*space{l.local, l.global} {
		strays, err := l.strays(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("looking for addresses that nobody needs: %w", err))
		}
		for _, a := range strays {
			of := holding{a.Owner, a.Holder.UID}
			since, known := before[of]
			if !known {
				since = now
			}
			if gone[of] = since; now.Sub(since) < l.options.Grace {
				continue
			}
			if err := l.free(ctx, s, a); err != nil {
				errs = append(errs, fmt.Errorf("freeing what %s holds: %w", a.Owner, err))
			}
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.gone = gone
	return errors.Join(errs...)
}

// strays returns the addresses of a space that are unused.
func (l *Driver) strays(ctx context.Context, s *space) ([]network.Allocation, error) {
	held, err := l.options.Service.Owned(ctx, s.beginning())
	if err != nil {
		return nil, err
	}
	leases, err := s.all(ctx) // read after the addresses, so that each has its lease
	if err != nil {
		return nil, err
	}
	var strays []network.Allocation
	for _, a := range held {
		id, _, is := s.held(a.Owner)
		if !is || a.State == network.Releasing {
			continue
		}
		stray, err := l.stray(ctx, s, a, leases[id])
		if err != nil {
			return nil, err
		}
		if stray {
			strays = append(strays, a)
		}
	}
	return strays, nil
}

// stray reports whether an address is unused, given the lease of its identifier.
func (l *Driver) stray(ctx context.Context, s *space, a network.Allocation, p Pool) (bool, error) {
	leased := s.leased(a, p)
	if leased && s.shared {
		return false, nil
	}
	id, address, _ := s.held(a.Owner)
	_, prefix, _ := s.parse(id)
	unused, has, err := l.isUnused(ctx, s, p, prefix, address)
	return unused || err == nil && !has && !leased, err
}

// leased reports whether an address belongs to the current lease of its identifier, and not to an earlier one.
func (s *space) leased(a network.Allocation, p Pool) bool {
	if s.shared || p.ID == "" {
		return p.ID != ""
	}
	of := wordLease + p.Term + "/"
	return slices.ContainsFunc(a.Holder.Aliases, func(word string) bool { return strings.HasPrefix(word, of) })
}

// free releases an address if it is still unused.
func (l *Driver) free(ctx context.Context, s *space, a network.Allocation) error {
	id, _, _ := s.held(a.Owner)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	p, _, err := s.table.Get(ctx, id)
	if err != nil {
		return err
	}
	if stray, err := l.stray(ctx, s, a, p); err != nil || !stray {
		return err
	}
	freed := false
	err = l.options.Service.Quit(ctx, a.Owner, func(h *network.Holder) (own, over bool) {
		freed = h.UID == a.Holder.UID && slices.Equal(h.Aliases, a.Holder.Aliases)
		return freed, freed
	})
	if err == nil && freed {
		l.options.Freed(a)
	}
	return err
}
