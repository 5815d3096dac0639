// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"fmt"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The states of an allocation, and who changes them. Each line is one commit that compares the rows it changes.
//
//	from       to         by                                   condition
//	-          intended   request, pool with a cloud           all resources free or past their quarantine, quotas not exceeded, not released since
//	                                                           the request arrived, caller connected
//	-          bound      request, pool without a cloud        the same
//	intended   intended   worker, before a call of the cloud   worker written; bindUntil not before the end of the call's effect
//	intended   intended   worker, address in use in the cloud  another address; the old one in quarantine
//	intended   bound      worker                               the cloud has all allocations of the request
//	intended   bound      reconciler                           the first allocation of the request is bound
//	intended   releasing  worker, reconciler                   refused; or the request has ended without an answer
//	bound      releasing  release, preemption                  release by the owner; preemption by a connected caller of the contract
//	releasing  intended   request of the owner for the same    before bindUntil: no unbind has been sent
//	releasing  -          worker, reconciler                   an unbind that was sent after bindUntil and succeeded; resources in quarantine
//
// The worker is the server that a row names. Another server takes a row over when the worker's lease has ended.

// action is an action of the reconciler for an allocation.
type action int

// The actions of the reconciler. wait looks again later.
const (
	nothing action = iota
	wait
	undo
	unbind
)

// workerCheck is the interval between checks of another server's work. It can be long, because the end of a lease is
// noticed at once.
const workerCheck = time.Minute

// errReleased is the error of an allocation that was released while the cloud was called.
var errReleased = fmt.Errorf("%w: it was released at the same time; retry", network.ErrUnavailable)

// confirmed reports whether the cloud has confirmed that it has an allocation.
func confirmed(b network.Binding) bool {
	return len(b.Reference) > 0 || len(b.MAC) > 0 || len(b.Addresses) > 0 || b.VLAN != 0
}

// permanent reports whether an error of a call leaves nothing to be tried again.
func permanent(err error) bool {
	return errors.Is(err, network.ErrRefused) || errors.Is(err, network.ErrTaken) || errors.Is(err, network.ErrNotSent)
}

// sameAllocation reports whether two readings are of the same allocation. Rows of older versions have no generation.
func sameAllocation(a, b network.Allocation) bool {
	return a.Owner == b.Owner && a.Generation == b.Generation && a.Since.Equal(b.Since)
}
