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
	Count(ctx context.Context, kind string) (*Population, error)
	// Lives reports whether a named holder exists according to the source. It returns false for a holder without a
	// name, because these have just been counted. It fails if the source does not answer.
	Lives(ctx context.Context, holder network.Holder) (bool, error)
}

// Population is the set of holders of one kind that existed at the time of a count.
type Population struct {
	// At is the time of the count: it contains all holders that existed then and still exist.
	At time.Time
	// Node restricts the count to the holders on one node; empty means all.
	Node string
	// UIDs has the UIDs of the holders, and Names namespace/name.
	UIDs, Names map[string]struct{}
}

// Has reports whether a holder exists: by its UID, or else by namespace and name. counted is false for a holder on another
// node.
func (p *Population) Has(holder network.Holder) (lives, counted bool) {
	if p.Node != "" && holder.Node != p.Node {
		return false, false
	}
	if holder.UID != "" {
		_, lives = p.UIDs[holder.UID]
		return lives, true
	}
	_, lives = p.Names[holder.Namespace+"/"+holder.Name]
	return lives, true
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
	Allocation network.Allocation `json:"allocation"`
	Reason     Reason             `json:"reason"`
	// Freed reports that it was released.
	Freed bool `json:"freed"`
	// First reports that it was not reported before.
	First bool `json:"-"`
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
	// Elsewhere reports whether another server manages an allocation, so that it is ignored.
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
	// Report receives the suspects of each search, Done each completed search, and Failed errors.
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
	// marks are the suspects of the last search.
	marks map[network.Owner]mark
}

// mark records what was found about an allocation.
type mark struct {
	// since distinguishes the allocation from others of its owner. missing is when its holder was first missing.
	since, missing time.Time
	reported       Reason
}

// New returns a reconciler.
func New(o Options) *Reconciler {
	o.Period, o.Grace, o.Share = cmp.Or(o.Period, 5*time.Minute), cmp.Or(o.Grace, 10*time.Minute), cmp.Or(o.Share, 50)
	return &Reconciler{options: o, marks: map[network.Owner]mark{}}
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

// count counts the holders of some kinds. The result lacks kinds that cannot be counted, which is an error only if the census should be
// able to.
func (r *Reconciler) count(ctx context.Context, kinds map[string]bool) (living map[string]*Population, errs []error) {
	living = map[string]*Population{}
	for kind := range kinds {
		if r.options.Census == nil || kind == "" {
			continue
		}
		counted, err := r.options.Census.Count(ctx, kind)
		if err == nil {
			living[kind] = counted
		} else if !errors.Is(err, ErrUncounted) {
			errs = append(errs, fmt.Errorf("listing the holders of kind %s: %w", kind, err))
		}
	}
	return living, errs
}

// exists reports whether the holder of an allocation exists, if that is known. A count before the allocation proves nothing.
func exists(a network.Allocation, living *Population) (lives, known bool) {
	named := a.Holder.Namespace != "" && a.Holder.Name != ""
	if living == nil || a.Holder.UID == "" && !named || !living.At.After(a.Since) {
		return false, false
	}
	return living.Has(a.Holder)
}

// findSuspects finds the suspects. Kinds that cannot be counted are no error.
func (r *Reconciler) findSuspects(ctx context.Context) ([]Suspect, Summary, error) {
	now, kinds := r.options.Clock.Now(), map[string]bool{}
	err := r.options.Ledger.All(ctx, func(a network.Allocation) error {
		if r.isEligible(a, now) {
			kinds[a.Holder.Kind] = true
		}
		return nil
	})
	living, failures := r.count(ctx, kinds)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, Summary{}, fmt.Errorf("looking for leaks: %w", err)
	}
	var found []Suspect
	summary, marks := Summary{Suspects: map[Reason]int{}}, map[network.Owner]mark{}
	err = r.options.Ledger.All(ctx, func(a network.Allocation) error {
		if summary.Held++; !r.isEligible(a, now) {
			return nil
		}
		lives, known := exists(a, living[a.Holder.Kind])
		if !known {
			summary.Unchecked++
		}
		m, reason := r.suspect(a, now, living[a.Holder.Kind], known)
		if lives || reason == "" {
			return nil
		}
		summary.Suspects[reason]++
		found = append(found, Suspect{Allocation: a, Reason: reason, First: m.reported != reason})
		m.reported = reason
		marks[a.Owner] = m
		return nil
	})
	if err != nil {
		return nil, Summary{}, fmt.Errorf("looking for leaks: %w", err)
	}
	r.marks = marks
	for _, err := range failures {
		r.options.Failed(err)
	}
	return found, summary, nil
}

// isEligible reports whether an allocation is old enough and no other server manages it. It excludes allocations being
// released.
func (r *Reconciler) isEligible(a network.Allocation, now time.Time) bool {
	return a.State != network.Releasing && now.Sub(a.Since) >= r.options.Grace && !r.options.Elsewhere(a)
}

// suspect returns the reason why an allocation without a known living holder is a suspect, if it is one, and its mark.
func (r *Reconciler) suspect(a network.Allocation, now time.Time, living *Population, known bool) (mark, Reason) {
	m := r.marks[a.Owner]
	if !m.since.Equal(a.Since) {
		m = mark{since: a.Since}
	}
	switch {
	case !known && r.options.Oldest > 0 && now.Sub(a.Since) >= r.options.Oldest:
		m.missing = time.Time{}
		return m, Old
	case !known:
		return m, ""
	case m.missing.IsZero():
		m.missing = living.At
		return m, Missing
	case living.At.Sub(m.missing) < r.options.Period:
		return m, Missing
	}
	return m, Gone
}

// release releases suspects that are still missing in a new count and in a direct query.
func (r *Reconciler) release(ctx context.Context, found []Suspect) error {
	kinds := map[string]bool{}
	for _, s := range found {
		if s.Reason == Gone {
			kinds[s.Allocation.Holder.Kind] = true
		}
	}
	living, errs := r.count(ctx, kinds)
	for i, s := range found {
		a := s.Allocation
		lives, known := exists(a, living[a.Holder.Kind])
		if s.Reason != Gone || lives || !known {
			continue
		}
		lives, err := r.options.Census.Lives(ctx, a.Holder)
		if err == nil && !lives {
			err = r.options.Release(ctx, a.Owner, a.Since)
			found[i].Freed = err == nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("releasing the allocations of %s: %w", a.Owner, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}
