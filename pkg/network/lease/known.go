// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"net/netip"
)

// Known notes that the client has learned of the lease of a subnet, since it makes something of it: to others it is in use from now on, though no
// address of it was asked for. What is no lease, or that of a shared space, is let pass.
func (l *Leases) Known(ctx context.Context, space string, subnet netip.Prefix) error {
	if space != l.local.name {
		return nil
	}
	leases, err := l.local.all(ctx)
	if err != nil {
		return err
	}
	for id, p := range leases {
		if p.Prefix == subnet && !p.Used {
			if _, err := l.use(ctx, l.local, id, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
