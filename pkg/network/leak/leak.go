// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// ErrUncounted means that the holders of a kind could not be counted, so that none of them is considered missing.
var ErrUncounted = errors.New("it is not known who lives")

// Census knows who lives.
type Census interface {
	// Count returns all existing holders of a kind (ResourceClaim or Pod) at a time not before the call. The error
	// wraps ErrUncounted if they cannot be counted.
	Count(ctx context.Context, kind string) (Living, error)
	// Lives asks the source itself for a holder that has a name. One that has none has just been counted, and is not found: false.
	Lives(ctx context.Context, holder network.Holder) (bool, error)
}

// Living are those of a kind that lived at a time.
type Living interface {
	// At returns the time of the count: it contains all holders that existed then and still exist.
	At() time.Time
	// Has reports whether a holder exists: by its UID, or else by namespace and name. counted is false for a holder
	// outside of this count, such as one on another node.
	Has(holder network.Holder) (lives, counted bool)
}

// Ledger provides the allocations.
type Ledger interface {
	All(ctx context.Context, each func(network.Allocation) error) error
}

// Reason says why an allocation is suspected.
type Reason string

// The reasons.
const (
	// Gone: its holder does not live any more.
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
	// Freed says that it was released.
	Freed bool
	// First says that it was not reported before.
	First bool
}

// Summary is the result of a pass.
type Summary struct {
	// Held are how many allocations there are, and Unjudged of how many it is not known whether their holders live.
	Held, Unjudged int
	// Suspects are how many there are by reason, those among them that were freed.
	Suspects map[Reason]int
	Freed    int
	// Withheld says that more are gone than are freed without being asked; see Options.Share.
	Withheld bool
}

// Options are those of a reconciler.
type Options struct {
	Ledger Ledger
	// Release releases the allocation of an owner that was made at the given time; service.Service.ReleaseSince.
	Release func(ctx context.Context, owner network.Owner, since time.Time) error
	// Census is nil if holders cannot be queried: then nothing is released.
	Census Census
	Clock  clock.WithTicker
	// Elsewhere reports whether another server manages an allocation, so that it is ignored; nil means none.
	Elsewhere func(network.Allocation) bool
	// Free releases those that are gone; else they are only reported.
	Free bool
	// Period is the time between two counts, and Grace how old an allocation is at least. Defaults 5 and 10 minutes.
	Period, Grace time.Duration
	// Oldest is the age from which an allocation with a holder that cannot be queried is reported; 0 means never.
	Oldest time.Duration
	// Share is how many of all allocations, in percent, are freed in one pass at most, though always some; default 50. When more are gone,
	// that is more likely a mistake, such as the kubeconfig of another cluster: they are reported, and Sweep frees them when it is asked to.
	Share int
	// Report is called with the suspects of each pass, Done with each completed pass, and Failed with errors. Each may
	// be nil.
	Report func(Suspect)
	Done   func(Summary)
	Failed func(error)
}

// always is the number of allocations that one pass may release regardless of their share.
const always = 8

// Reconciler looks for leaks. It is safe for concurrent use.
type Reconciler struct {
	options Options

	// mutex is held for a pass.
	mutex sync.Mutex
	// missing maps owners to allocations with missing holders.
	missing map[network.Owner]mark
	// old are those that were held for long at the last look, with the time since when.
	old map[network.Owner]time.Time
}

// mark is when a holder was missing first.
type mark struct {
	since, at time.Time
	reported  bool
}

// New makes a reconciler.
func New(o Options) *Reconciler {
	if o.Period == 0 {
		o.Period = 5 * time.Minute
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Minute
	}
	if o.Share == 0 {
		o.Share = 50
	}
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

// Run makes a pass each period, until the context ends.
func (r *Reconciler) Run(ctx context.Context) {
	ticker := r.options.Clock.NewTicker(r.options.Period)
	defer ticker.Stop()
	for {
		if err := r.Pass(ctx); err != nil && ctx.Err() == nil {
			r.options.Failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// Pass looks for leaks once, and frees those that are gone when that is wanted.
func (r *Reconciler) Pass(ctx context.Context) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found, summary, err := r.look(ctx)
	if err != nil {
		return err
	}
	gone := summary.Suspects[Gone]
	summary.Withheld = r.options.Free && gone > always && gone*100 > summary.Held*r.options.Share
	if r.options.Free && !summary.Withheld {
		err = r.free(ctx, found)
	}
	for _, s := range found {
		if s.Freed {
			summary.Freed++
		}
		r.options.Report(s)
	}
	r.options.Done(summary)
	if summary.Withheld {
		err = errors.Join(err, fmt.Errorf("%d of %d allocations have no living holder, which is too many to free them unasked: see to it that it is "+
			"the right cluster that is looked at, and free them by hand", gone, summary.Held))
	}
	return err
}

// Sweep looks for leaks immediately, and releases them unless dryRun is true, regardless of the options. It calls each
// for all suspects until it returns an error. A holder that is missing for the first time is only reported; a sweep at
// least one period later releases it.
func (r *Reconciler) Sweep(ctx context.Context, dryRun bool, each func(Suspect) error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found, _, err := r.look(ctx)
	if err != nil {
		return err
	}
	if !dryRun {
		err = r.free(ctx, found)
	}
	for _, s := range found {
		if err := each(s); err != nil {
			return err
		}
	}
	return err
}
