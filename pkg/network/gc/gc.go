// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gc finds allocations with holders that no longer exist, because a release was lost, and optionally releases
// them.
//
// An address that is released too early gets two holders, so it is careful. An allocation is a suspect only if its
// holder was missing in two counts at least one period apart, both started after the allocation and known to be
// complete; and not before a grace period. Immediately before the release, it queries the holder once more. It ignores
// holders that it cannot query: unknown kinds, and servers that do not respond. A holder exists as long as its object
// does, in any state.
//
// It uses no clock and no client of its own: package kube counts objects in Kubernetes. Start reading at New.
package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// ErrUncounted means that the holders of a kind could not be counted, so that none of them is considered missing.
var ErrUncounted = errors.New("the holders cannot be checked")

// Census reports which holders exist.
type Census interface {
	// Count returns all existing holders of a kind (ResourceClaim or Pod) at a time not before the call. The error
	// wraps ErrUncounted if they cannot be counted.
	Count(ctx context.Context, kind string) (Population, error)
	// Lives reports whether a named holder exists according to the source. It returns false for a holder without a
	// name, because these have just been counted. It fails if the source does not answer.
	Lives(ctx context.Context, holder network.Holder) (bool, error)
}

// Population is the set of holders of one kind that existed at the time of a count.
type Population interface {
	// At returns the time of the count: it contains all holders that existed then and still exist.
	At() time.Time
	// Has reports whether a holder exists: by its UID, or else by namespace and name. counted is false for a holder
	// outside of this count, such as one on another node.
	Has(holder network.Holder) (lives, counted bool)
}

// Ledger calls each for all allocations. It fails if the ledger is unreadable, or if each fails.
type Ledger interface {
	All(ctx context.Context, each func(network.Allocation) error) error
}

// Reason is the reason why an allocation counts as leaked.
type Reason string

// The reasons.
const (
	// Gone: its holder does not exist any more.
	Gone Reason = "gone"
	// Missing: its holder was missing once; it takes a second count to be sure.
	Missing Reason = "missing"
	// Old: its holder cannot be queried, and it has been held for a long time.
	Old Reason = "old"
)

// Suspect is an allocation that seems to have leaked.
type Suspect struct {
	Allocation network.Allocation
	Reason     Reason
	// Freed reports that it was released.
	Freed bool
	// First reports that it was not reported before.
	First bool
}

// Summary is the result of a search.
type Summary struct {
	// Held is the number of allocations, and Unchecked the number of those whose holders could not be checked.
	Held, Unchecked int
	// Suspects are how many there are by reason, those among them that were freed.
	Suspects map[Reason]int
	Freed    int
	// Withheld reports that more allocations have leaked than are released automatically; see Options.Share.
	Withheld bool
}

// Options configure a Reconciler.
type Options struct {
	Ledger Ledger
	// Release releases the allocation of an owner that was made at the given time; service.Service.ReleaseSince.
	Release func(ctx context.Context, owner network.Owner, since time.Time) error
	// Census is nil if holders cannot be queried: then nothing is released.
	Census Census
	Clock  clock.WithTicker
	// Elsewhere reports whether another server manages an allocation, so that it is ignored; nil means none.
	Elsewhere func(network.Allocation) bool
	// Free releases leaked allocations. Otherwise they are only reported.
	Free bool
	// Period is the time between two counts, and Grace how old an allocation is at least. Defaults 5 and 10 minutes.
	Period, Grace time.Duration
	// Oldest is the age from which an allocation with a holder that cannot be queried is reported; 0 means never.
	Oldest time.Duration
	// Share limits the allocations that one pass releases, in percent of all, but always permits some; default 50. If
	// more have leaked, a mistake is likely, such as the kubeconfig of another cluster: they are only reported, and
	// Sweep releases them on request.
	Share int
	// Report receives the suspects of each search, Done each completed search, and Failed errors. Each may be nil.
	Report func(Suspect)
	Done   func(Summary)
	Failed func(error)
}

// always is the number of allocations that one search may release regardless of their share.
const always = 8

// Reconciler looks for leaks. It is safe for concurrent use.
type Reconciler struct {
	options Options

	// mutex is held during a search.
	mutex sync.Mutex
	// missing maps owners to allocations with missing holders.
	missing map[network.Owner]mark
	// old are those that were held for long at the last look, with the time since when.
	old map[network.Owner]time.Time
}

// mark records when a holder was first missing.
type mark struct {
	since, at time.Time
	reported  bool
}

// New returns a reconciler.
func New(o Options) *Reconciler {
	o.Period, o.Grace, o.Share = cmp.Or(o.Period, 5*time.Minute), cmp.Or(o.Grace, 10*time.Minute), cmp.Or(o.Share, 50)
	if o.Elsewhere == nil {
		o.Elsewhere = func(network.Allocation) bool { return false }
	}
	if o.Report == nil {
		o.Report = func(Suspect) {}
	}
	if o.Done == nil {
		o.Done = func(Summary) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Reconciler{options: o, missing: map[network.Owner]mark{}}
}

// Run searches for leaks once per period until the context ends.
func (r *Reconciler) Run(ctx context.Context) {
	ticker := r.options.Clock.NewTicker(r.options.Period)
	defer ticker.Stop()
	for {
		if err := r.RunOnce(ctx); err != nil && ctx.Err() == nil {
			r.options.Failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// RunOnce searches for leaks once, and releases the leaked allocations if the options allow it. It fails if the ledger or
// the cluster cannot be read, or if too many allocations have no existing holder.
func (r *Reconciler) RunOnce(ctx context.Context) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found, summary, err := r.findSuspects(ctx)
	if err != nil {
		return err
	}
	gone := summary.Suspects[Gone]
	summary.Withheld = r.options.Free && gone > always && gone*100 > summary.Held*r.options.Share
	if r.options.Free && !summary.Withheld {
		err = r.release(ctx, found)
	}
	for _, s := range found {
		if s.Freed {
			summary.Freed++
		}
		r.options.Report(s)
	}
	r.options.Done(summary)
	if summary.Withheld {
		err = errors.Join(err, fmt.Errorf("%d of %d allocations have no living holder, which is too many to release them automatically: check that "+
			"kubernetes.kubeconfig is for the right cluster, and release them with graft ledger gc", gone, summary.Held))
	}
	return err
}

// Sweep looks for leaks immediately, and releases them unless dryRun is true, regardless of the options. It calls each
// for all suspects until it returns an error. A holder that is missing for the first time is only reported; a sweep at
// least one period later releases it.
func (r *Reconciler) Sweep(ctx context.Context, dryRun bool, each func(Suspect) error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found, _, err := r.findSuspects(ctx)
	if err != nil {
		return err
	}
	if !dryRun {
		err = r.release(ctx, found)
	}
	for _, s := range found {
		if err := each(s); err != nil {
			return err
		}
	}
	return err
}

// counts has the counts of one search, by kind. A kind is counted when it is needed first.
type counts struct {
	census Census
	made   map[string]Population
	errs   []error
}

// count returns the count of a kind, or nil.
func (c *counts) count(ctx context.Context, kind string) Population {
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
		c.errs = append(c.errs, fmt.Errorf("listing the holders of kind %s: %w", kind, err))
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
func judge(a network.Allocation, living Population) verdict {
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

// findSuspects finds the suspects. Kinds that cannot be counted are no error.
func (r *Reconciler) findSuspects(ctx context.Context) ([]Suspect, Summary, error) {
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
		if summary.Held++; !r.isEligible(a, now) {
			return nil
		}
		living := counted.made[a.Holder.Kind]
		switch judge(a, living) {
		case unknown:
			summary.Unchecked++
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

// count counts the holders of each kind that has an eligible allocation.
func (r *Reconciler) count(ctx context.Context, now time.Time) (*counts, error) {
	kinds := map[string]bool{}
	err := r.options.Ledger.All(ctx, func(a network.Allocation) error {
		if r.isEligible(a, now) {
			kinds[a.Holder.Kind] = true
		}
		return nil
	})
	counted := &counts{census: r.options.Census, made: map[string]Population{}}
	for kind := range kinds {
		counted.count(ctx, kind)
	}
	return counted, errors.Join(err, ctx.Err())
}

// isEligible reports whether an allocation is old enough and no other server manages it. It excludes allocations being
// released.
func (r *Reconciler) isEligible(a network.Allocation, now time.Time) bool {
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

// release releases suspects that are still missing in a new count and in a direct query.
func (r *Reconciler) release(ctx context.Context, found []Suspect) error {
	var errs []error
	last := counts{census: r.options.Census, made: map[string]Population{}}
	for i, s := range found {
		if s.Reason != Gone {
			continue
		}
		a := s.Allocation
		if judge(a, last.count(ctx, a.Holder.Kind)) != absent {
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
			errs = append(errs, fmt.Errorf("releasing the allocations of %s: %w", a.Owner, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(append(errs, last.errs...)...)
}
