// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"net/netip"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Next is ledger.Ledger.Next: an address that is free, for whoever makes an owner out of it.
func (s *Service) Next(ctx context.Context, pool string, within netip.Prefix, attempt int) (netip.Addr, error) {
	address, err := s.ledger.Next(ctx, pool, within, attempt)
	return address, s.exhausted.note(err)
}

// Claim changes whoever an owner stands for, unless change refuses that, or what it holds is being given back: then the error is that of change, or
// wraps network.ErrNotHeld.
func (s *Service) Claim(ctx context.Context, owner network.Owner, change func(*network.Holder) error) (network.Allocation, error) {
	return s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return network.ErrNotHeld
		}
		return change(&a.Holder)
	})
}

// errHeld says that nothing of an allocation is to be changed.
var errHeld = errors.New("it is somebody else's")

// Quit changes whoever an owner stands for, and releases what it holds when change says that nobody has it any more; both at once, so that nobody can
// claim it in between. When change says that it is not its own, nothing happens. An owner that holds nothing is no error.
func (s *Service) Quit(ctx context.Context, owner network.Owner, change func(*network.Holder) (own, over bool)) error {
	a, err := s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		if a.State == network.Releasing {
			return network.ErrNotHeld
		}
		own, over := change(&a.Holder)
		if !own {
			return errHeld
		}
		if over {
			a.State = network.Releasing
		}
		return nil
	})
	switch {
	case errors.Is(err, network.ErrNotHeld), errors.Is(err, errHeld):
		return nil
	case err != nil || a.State != network.Releasing:
		return err
	}
	return s.releaseIf(ctx, quitting, owner, func(a network.Allocation) bool { return a.State == network.Releasing })
}
