// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// counts are those of one pass, by kind: each is made when it is needed first.
type counts struct {
	census Census
	made   map[string]Living
	errs   []error
}

// of returns the count of a kind, or nil.
func (c *counts) of(ctx context.Context, kind string) Living {
	if c.census == nil || kind == "" {
		return nil
	}
	living, tried := c.made[kind]
	if tried {
		return living
	}
	living, err := c.census.Count(ctx, kind)
	if err != nil {
		living = nil
	}
	if err != nil && !errors.Is(err, ErrUncounted) {
		c.errs = append(c.errs, fmt.Errorf("counting who lives of kind %s: %w", kind, err))
	}
	c.made[kind] = living
	return living
}

// verdict is the result of a count for an allocation.
type verdict int

const (
	unknown verdict = iota
	lives
	absent
)

// judge reports whether the holder of an allocation exists. A count before the allocation proves nothing.
func judge(a network.Allocation, living Living) verdict {
	if living == nil || a.Holder.UID == "" && !named(a.Holder) || !living.At().After(a.Since) {
		return unknown
	}
	switch is, counted := living.Has(a.Holder); {
	case !counted:
		return unknown
	case is:
		return lives
	default:
		return absent
	}
}

func named(h network.Holder) bool { return h.Namespace != "" && h.Name != "" }

// look finds the suspects. Kinds that cannot be counted are no error.
func (r *Reconciler) look(ctx context.Context) ([]Suspect, Summary, error) {
	now := r.options.Clock.Now()
	counted, err := r.count(ctx, now)
	if err != nil {
		return nil, Summary{}, fmt.Errorf("looking for leaks: %w", err)
	}
	var (
		found   []Suspect
		summary = Summary{Suspects: map[Reason]int{}}
		missing = map[network.Owner]mark{}
		old     = map[network.Owner]time.Time{}
	)
	err = r.options.Ledger.All(ctx, func(a network.Allocation) error {
		if summary.Held++; !r.judged(a, now) {
			return nil
		}
		living := counted.made[a.Holder.Kind]
		switch judge(a, living) {
		case unknown:
			summary.Unjudged++
			if r.options.Oldest > 0 && now.Sub(a.Since) >= r.options.Oldest {
				found, old[a.Owner] = append(found, Suspect{Allocation: a, Reason: Old, First: !r.old[a.Owner].Equal(a.Since)}), a.Since
			}
		case absent:
			s, m := r.suspect(a, living.At())
			found, missing[a.Owner] = append(found, s), m
		}
		return nil
	})
	if err != nil {
		return nil, Summary{}, fmt.Errorf("looking for leaks: %w", err)
	}
	r.missing, r.old = missing, old
	for _, s := range found {
		summary.Suspects[s.Reason]++
	}
	for _, err := range counted.errs {
		r.options.Failed(err)
	}
	return found, summary, nil
}

// count counts who lives of the kinds that hold something.
func (r *Reconciler) count(ctx context.Context, now time.Time) (*counts, error) {
	kinds := map[string]bool{}
	err := r.options.Ledger.All(ctx, func(a network.Allocation) error {
		if r.judged(a, now) {
			kinds[a.Holder.Kind] = true
		}
		return nil
	})
	counted := &counts{census: r.options.Census, made: map[string]Living{}}
	for kind := range kinds {
		counted.of(ctx, kind)
	}
	return counted, errors.Join(err, ctx.Err())
}

// judged reports whether an allocation is old enough and no other server manages it. It excludes allocations being
// released.
func (r *Reconciler) judged(a network.Allocation, now time.Time) bool {
	return a.State != network.Releasing && now.Sub(a.Since) >= r.options.Grace && !r.options.Elsewhere(a)
}

// suspect returns the suspect for an allocation with a holder missing at a time, and its mark.
func (r *Reconciler) suspect(a network.Allocation, at time.Time) (Suspect, mark) {
	m, marked := r.missing[a.Owner]
	if !marked || !m.since.Equal(a.Since) {
		return Suspect{Allocation: a, Reason: Missing, First: true}, mark{since: a.Since, at: at}
	}
	s := Suspect{Allocation: a, Reason: Missing}
	if at.Sub(m.at) >= r.options.Period {
		s.Reason, s.First, m.reported = Gone, !m.reported, true
	}
	return s, m
}

// free releases those that are gone, and that a new count and the source itself do not find either.
func (r *Reconciler) free(ctx context.Context, found []Suspect) error {
	var errs []error
	last := counts{census: r.options.Census, made: map[string]Living{}}
	for i, s := range found {
		if s.Reason != Gone {
			continue
		}
		a := s.Allocation
		if judge(a, last.of(ctx, a.Holder.Kind)) != absent {
			continue
		}
		alive, err := r.options.Census.Lives(ctx, a.Holder)
		if err == nil && !alive {
			if err = r.options.Release(ctx, a.Owner, a.Since); err == nil {
				found[i].Freed = true
				delete(r.missing, a.Owner)
				continue
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("freeing what %s held: %w", a.Owner, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(append(errs, last.errs...)...)
}
