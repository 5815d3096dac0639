// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Owned are the allocations of all owners of a contract whose keys begin as that of the given one.
func (s *Service) Owned(ctx context.Context, beginning network.Owner) ([]network.Allocation, error) {
	return s.ledger.Owned(ctx, beginning)
}

// Describe changes whoever an owner stands for, where its caller says more than it did before. The error wraps network.ErrNotHeld.
func (s *Service) Describe(ctx context.Context, owner network.Owner, change func(*network.Holder)) error {
	_, err := s.ledger.Update(ctx, owner, func(a *network.Allocation) error {
		change(&a.Holder)
		return nil
	})
	return err
}
