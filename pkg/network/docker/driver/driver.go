// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package driver keeps the networks and endpoints of Docker on this machine as rows, and makes the kernel links match
// them. A row is written before the kernel is changed, so that Reconcile can finish what a crash interrupted. The same
// request again returns the same answer.
//
// It decodes no requests, uses the clock that it is given, and never asks Docker. Start reading at Reconcile.
package driver

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// The errors at the border, beside those of package network.
var (
	// ErrUnknownNetwork says that there is no network with an identifier.
	ErrUnknownNetwork = errors.New("unknown network")
	// ErrUnknownEndpoint says that there is no endpoint with an identifier.
	ErrUnknownEndpoint = errors.New("unknown endpoint")
	// ErrImpossible says that what is asked for cannot be had, however often it is asked for.
	ErrImpossible = link.ErrImpossible
)

// Kernel is what is asked of the kernel; link.Kernel does it. All of it is idempotent.
type Kernel interface {
	EnsureSegment(ctx context.Context, s link.Segment) error
	RemoveSegment(ctx context.Context, s link.Segment) error
	EnsurePort(ctx context.Context, s link.Segment, p link.Port) (link.Port, error)
	RemovePort(ctx context.Context, s link.Segment, endpoint string) error
	RepairPort(ctx context.Context, s link.Segment, m link.Marked) error
	SetPeers(ctx context.Context, s link.Segment, peers []netip.Addr) error
	Marked(ctx context.Context) ([]link.Marked, error)
	Remove(ctx context.Context, m link.Marked) error
}

// Leases knows what Docker's IPAM has been given; ipam.Driver does.
type Leases interface {
	// Find is the allocation of an address of a subnet in an address space of ours, and the pool that it is of. The error wraps network.ErrNotHeld.
	Find(ctx context.Context, space string, subnet netip.Prefix, address netip.Addr) (network.Allocation, *policy.Pool, error)
	// Describe says whom such an allocation is for, by its owner.
	Describe(ctx context.Context, owner network.Owner, of network.Holder) error
}

// Options are those of Driver.
type Options struct {
	Service *service.Service
	// Policy is the one in force.
	Policy func() *policy.Policy
	Leases Leases
	// Store has the rows: those of the ledger.
	Store  ledger.Store
	Kernel Kernel
	// Node is this machine; empty: the store is of this machine alone.
	Node  string
	Clock clock.WithTicker
	// Boot names the time since the machine was started; links are gone where a row has another one. Empty: nobody knows.
	Boot string
	// Lives says whether a sandbox is there still; nil: nobody knows.
	Lives func(sandbox string) bool
	// Patience bounds each call of the kernel. Default 10 seconds.
	Patience time.Duration
	// Grace is how long what seems to be stale is kept, and Period the time between two reconciliations. Defaults 10 minutes and 1 minute.
	Grace, Period time.Duration
	// Report receives errors of background work, and Removed what the reconciler has removed. Each may be nil.
	Report  func(error)
	Removed func(Removed)
}

// Driver are the networks and endpoints of this machine. They are safe for concurrent use.
type Driver struct {
	options   Options
	networks  *book[networkRow]
	endpoints *book[endpointRow]
	nodes     *book[nodeRow]
	locks     locks
	claims    claims
	// overlapping says that pools overlap subnets of networks whose addresses another IPAM driver gives; see Barred.
	overlapping atomic.Bool

	// goneEndpoints and unknownLinks are findings of the reconciler, by row key and link name.
	goneEndpoints, unknownLinks firstSeen

	// mutex guards what follows.
	mutex sync.Mutex
	// reported is what was reported and is so for long.
	reported map[string]bool
	removed  RemovedCount
}

// New makes Driver; nothing is read or changed before they are used.
func New(o Options) *Driver {
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Minute
	}
	if o.Period == 0 {
		o.Period = time.Minute
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Removed == nil {
		o.Removed = func(Removed) {}
	}
	a := &Driver{
		options: o, networks: newBook[networkRow](o, "network"), endpoints: newBook[endpointRow](o, "endpoint"), nodes: newBook[nodeRow](o, "node"),
		reported: map[string]bool{},
	}
	a.endpoints.changed = a.claims.follow
	return a
}

// kernel calls the kernel, with a deadline.
func (a *Driver) kernel(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.Patience)
	defer cancel()
	return call(ctx)
}
