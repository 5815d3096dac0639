// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Owned are the allocations of all owners of a contract whose keys begin as that of the given one, in the order of the owners.
func (l *Ledger) Owned(ctx context.Context, beginning network.Owner) ([]network.Allocation, error) {
	var all []network.Allocation
	err := l.store.Scan(ctx, ownerKey(beginning), func(key, value []byte) error {
		a, err := decode(value)
		if err != nil {
			return fmt.Errorf("reading the row %s: %w", key, err)
		}
		all = append(all, a)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return all, nil
}
