// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package compare finds the differences between two versions of profiles: for each object of many shoots, the two
// results, their differences with the rules that cause them, and the consequences. It reports identical differences of
// several shoots once, with the properties that distinguish those shoots.
//
// It reads no profiles, files or clusters. Start reading at Run, Matrix and Result.Text.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// ErrUnknown is wrapped by the errors of sides that fail for one object; the remaining objects are still compared.
var ErrUnknown = errors.New("it could not be compared")

// Side is one of the two that are compared. It is used by several goroutines at a time.
type Side interface {
	// Admit takes an object of the snapshot through the webhooks of the side. A denied object is a change with Denied set.
	// It fails with ErrUnknown if only this object cannot be compared.
	Admit(ctx context.Context, s *snapshot.Snapshot, object manifest.Object) (*render.Change, error)
}

// Options selects the sides and snapshots to compare.
type Options struct {
	// Old and New are the sides; OldName and NewName are their names in the output.
	Old, New         Side
	OldName, NewName string
	// OldFiles and NewFiles are the names of the profiles' files, which distinguish the rules of the two sides.
	OldFiles, NewFiles []string
	// Snapshots are those that objects are taken from. Snapshots of one run have different titles.
	Snapshots []*snapshot.Snapshot
	// Notes are added to the result.
	Notes []string
	// More returns further effects for an object that both sides admit; nil for none.
	More func(ctx context.Context, s *snapshot.Snapshot, object manifest.Object) ([]string, error)
	// Progress is called after each snapshot with the number of completed ones; it may be nil.
	Progress func(done, of int)
	// Parallel is how many snapshots are compared at a time; as many as there are processors when it is 0.
	Parallel int
}

// Run compares the sides over all snapshots. It fails if an object is invalid, a side cannot answer, or the context
// ends.
func Run(ctx context.Context, o Options) (*Result, error) {
	found := make([][]objectVerdict, len(o.Snapshots))
	err := Each(ctx, cmp.Or(o.Parallel, runtime.GOMAXPROCS(0)), len(o.Snapshots), o.Progress, func(ctx context.Context, i int) (err error) {
		if found[i], err = o.compare(ctx, o.Snapshots[i]); err != nil {
			return fmt.Errorf("comparing %s: %w", o.Snapshots[i].Title, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gather(o, found), nil
}

// Each calls do for each index below count, as many at a time as parallel says, and after each progress with the number
// of completed calls, unless it is nil. It fails with the context's error, or the first one of do.
func Each(ctx context.Context, parallel, count int, progress func(done, of int), do func(ctx context.Context, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var (
		lock sync.Mutex
		done int
	)
	for i := range count {
		group.Go(func() error {
			if err := cmp.Or(do(inner, i), inner.Err()); err != nil {
				return err
			}
			lock.Lock()
			defer lock.Unlock()
			if done++; progress != nil {
				progress(done, count)
			}
			return nil
		})
	}
	err := group.Wait()
	return cmp.Or(ctx.Err(), err)
}

// Verdict classifies the difference between two results, in the words of the output.
type Verdict string

// The verdicts.
const (
	// NewlyDenied: only the new side denies the object.
	NewlyDenied Verdict = "newly denied"
	// Admitted: only the old side denies it.
	Admitted Verdict = "no longer denied"
	// Different: both admit it, and the results differ.
	Different Verdict = "different"
	// Unknown: a side could not answer.
	Unknown Verdict = "could not be compared"
	// Denied: both deny it.
	Denied Verdict = "denied by both"
	// Same: the results are equal.
	Same Verdict = "same"
)

// verdicts are in the order of the output.
var verdicts = []Verdict{NewlyDenied, Admitted, Unknown, Different, Denied, Same}

// objectVerdict is the verdict about one object of one snapshot.
type objectVerdict struct {
	object  manifest.Object
	verdict Verdict
	// change is the difference, or the denial; nil for Same.
	change  *render.Change
	effects []string
}

func (o Options) compare(ctx context.Context, s *snapshot.Snapshot) ([]objectVerdict, error) {
	outcomes := make([]objectVerdict, 0, len(s.Objects))
	for _, object := range s.Objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one, err := o.compareObject(ctx, s, object)
		if errors.Is(err, ErrUnknown) && ctx.Err() == nil {
			one, err = unknown(object, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object, err)
		}
		outcomes = append(outcomes, one)
	}
	return outcomes, nil
}

// compareObject takes an object through both sides.
func (o Options) compareObject(ctx context.Context, s *snapshot.Snapshot, object manifest.Object) (objectVerdict, error) {
	out := objectVerdict{object: object, verdict: Same}
	was, err := o.Old.Admit(ctx, s, object)
	if err != nil {
		return out, err
	}
	is, err := o.New.Admit(ctx, s, object)
	if err != nil {
		return out, err
	}
	switch {
	case was.Denied != nil && is.Denied != nil:
		out.verdict, out.change = Denied, is
	case is.Denied != nil:
		out.verdict, out.change = NewlyDenied, is
	case was.Denied != nil:
		out.verdict, out.change = Admitted, was
	}
	if out.verdict != Same {
		return out, nil
	}
	if out.change, err = render.Between(was, is); err != nil {
		return out, err
	}
	if o.More != nil {
		if out.effects, err = o.More(ctx, s, object); err != nil {
			return out, err
		}
	}
	if out.change.Differs("") || len(out.effects) > 0 {
		out.verdict = Different
		out.effects = append(effects(out.change), out.effects...)
	}
	return out, nil
}

// effects returns the changed parts of an object that cause replacements or restarts.
func effects(c *render.Change) []string {
	var found []string
	for _, part := range []struct{ path, what string }{
		{"spec.template", "Pod template changes"}, {"spec.jobTemplate", "Pod template changes"},
		{"spec.units", "unit changes"}, {"spec.files", "file changes"},
	} {
		if c.Differs(part.path) {
			found = append(found, part.what)
		}
	}
	return found
}

// unknown returns the verdict for an object for which a side failed.
func unknown(object manifest.Object, reason error) (objectVerdict, error) {
	change, err := render.NewChange(object.JSON)
	if err != nil {
		return objectVerdict{}, err
	}
	change.Denied = reason
	return objectVerdict{object: object, verdict: Unknown, change: change}, nil
}

// CompiledSide is the Side of profiles that are compiled.
type CompiledSide struct{ *mutation.Program }

// Admit implements Side. It fails with ErrUnknown if the object cannot be evaluated.
func (p CompiledSide) Admit(ctx context.Context, s *snapshot.Snapshot, object manifest.Object) (*render.Change, error) {
	changes, err := s.Admit(ctx, p.Program, object)
	if err != nil {
		return nil, err
	}
	failure, ok := errors.AsType[*mutation.Failure](changes[0].Denied)
	lacksFacts := []mutation.Reason{mutation.LookupFailed, mutation.FactsUnavailable, mutation.DeadlineExceeded}
	if ok && s.Live != nil && slices.Contains(lacksFacts, failure.Reason) {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, failure)
	}
	return changes[0], nil
}
