// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloud defines the interface to the cloud behind a pool. Each cloud is a package below this one; clouds use
// neither the ledger nor each other. Start reading at Cloud.
package cloud

import (
	"context"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Cloud makes addresses reachable outside of the machine. All methods are idempotent: they are repeated after a crash,
// after a lost response, and when an owner asks again; but never concurrently for one owner. An error wraps
// network.ErrRefused if a retry is useless, also network.ErrExhausted if the cloud selects addresses and has none left,
// and RetryAfter if the cloud limits requests. network.ErrNotSent means that this attempt sent no request, although an
// earlier one may have succeeded. After any other error, it is unknown whether the call succeeded. Every cloud passes
// the suite of package test/cloudtest.
type Cloud interface {
	// Bind makes the cloud deliver packets for the addresses of the allocation.
	Bind(ctx context.Context, a network.Allocation) (network.Binding, error)
	// Unbind reverts Bind. It succeeds if the cloud has no such binding.
	Unbind(ctx context.Context, a network.Allocation) error
	// Find returns the binding of an allocation after a Bind with unknown result, and false if there is none. A cloud
	// that cannot query its bindings either binds again and returns the binding, or removes a possible binding and
	// returns false.
	Find(ctx context.Context, a network.Allocation) (network.Binding, bool, error)
}
