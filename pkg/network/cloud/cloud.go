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
// answer, and when an owner asks again; never two at a time for one owner. An error is, or wraps, network.ErrRefused when repeating is of no
// use, network.ErrExhausted beside it when the cloud chooses addresses and has none left, and RetryAfter when the cloud is asked too much.
// network.ErrNotSent says that nothing was sent by this attempt, though an earlier one may have been done. After any other error it is not known
// whether the call has been done. Every cloud passes the suite of package test/cloudtest.
type Cloud interface {
	// Bind makes the cloud deliver what is sent to the addresses of the allocation.
	Bind(ctx context.Context, a network.Allocation) (network.Binding, error)
	// Unbind makes it stop; that of what the cloud does not have is no error.
	Unbind(ctx context.Context, a network.Allocation) error
	// Find is what the cloud has of an allocation of which it is not known whether it was bound; false when it has nothing. A cloud that
	// cannot tell makes it so: it binds once more and says what it has, or takes back what there may be and says that it has nothing.
	Find(ctx context.Context, a network.Allocation) (network.Binding, bool, error)
}
