// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// undoAll undoes what was begun, as one of all was refused, but those that were held before. One alone that was not sent now may have been sent by an earlier
// attempt, and stays.
func (s *Service) undoAll(ctx context.Context, all []network.Allocation, fresh []bool, problems []error, rests bool) {
	var undone, unsent []network.Allocation
	for i, a := range all {
		switch {
		case !errors.Is(problems[i], network.ErrNotSent):
			if fresh[i] || a.State == network.Intended {
				undone = append(undone, a)
			}
		case fresh[i]:
			unsent = append(unsent, a)
		case len(all) > 1:
			undone = append(undone, a)
		}
	}
	// In this order: whoever finds what is left, after a crash or when the one could not be written, undoes the rest for the sake of those that are unsent.
	if !s.undo(ctx, undone) {
		return
	}
	for _, a := range unsent {
		s.retract(ctx, a, rests)
	}
}

// retract forgets an intent of which no cloud was told, and lets it rest where somebody may use its address still.
func (s *Service) retract(ctx context.Context, a network.Allocation, rests bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	forget := s.rest
	if !rests {
		forget = func(ctx context.Context, a network.Allocation) error { return s.forget(ctx, a, 0) }
	}
	if err := forget(ctx, a); err != nil && !errors.Is(err, network.ErrNotHeld) {
		s.options.Report(a.Owner, fmt.Errorf("undoing an allocation: %w", err))
	}
}

// undoing is how long it may take to remember that something is to be undone.
const undoing = 10 * time.Second

// undo remembers that allocations are to be released, all at once; that is done in the background. Where one is not there any more, each is for itself.
// False: not all of it could be written, which is reported.
func (s *Service) undo(ctx context.Context, all []network.Allocation) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
	defer cancel()
	before := map[network.Owner]network.State{}
	for _, a := range all {
		before[a.Owner] = a.State
	}
	_, err := s.ledger.UpdateAll(ctx, func(found *network.Allocation) error {
		if before[found.Owner] == network.Intended && found.State == network.Bound {
			return network.ErrNotHeld // not by this server: another one has bound it, and given it to its caller
		}
		return markReleasing(found)
	}, owners(all)...)
	if errors.Is(err, network.ErrNotHeld) && len(all) > 1 {
		done := true
		for i := range all {
			done = s.undo(ctx, all[i:i+1]) && done
		}
		return done
	}
	gone := errors.Is(err, network.ErrNotHeld)
	for _, a := range all {
		switch {
		case err == nil:
			s.releases.add(a.Owner)
		case !gone:
			s.options.Report(a.Owner, fmt.Errorf("undoing an allocation: %w", err))
		}
	}
	return err == nil || gone
}

// owners are those of allocations.
func owners(all []network.Allocation) []network.Owner {
	owners := make([]network.Owner, len(all))
	for i, a := range all {
		owners[i] = a.Owner
	}
	return owners
}
