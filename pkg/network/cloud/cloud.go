// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloud is what the allocation wing asks of the cloud behind a pool. Each cloud is a package below this one; they know
// neither the ledger nor each other. Enter at Cloud.
package cloud

import (
	"context"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Cloud makes addresses work outside of the machine. All methods are idempotent: they are repeated after a crash, after a lost
// answer, and when an owner asks again. Errors wrap network.ErrRefused when repeating is of no use.
type Cloud interface {
	// Bind makes the cloud deliver what is sent to the addresses of the allocation.
	Bind(ctx context.Context, a network.Allocation) (network.Binding, error)
	// Unbind makes it stop; that of what the cloud does not have is no error.
	Unbind(ctx context.Context, a network.Allocation) error
	// Find is what the cloud has of an allocation of which it is not known whether it was bound; false when it has nothing.
	Find(ctx context.Context, a network.Allocation) (network.Binding, bool, error)
}
