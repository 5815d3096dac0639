// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package driver stores the networks and endpoints of Docker on this machine as rows, and makes the kernel links match
// them. A row is written before the kernel is changed, so that Reconcile can complete interrupted changes. A repeated
// request returns the same response.
//
// It parses no requests and expects valid identifiers, uses the given clock, and never calls Docker. Start reading at Reconcile.
package driver

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// The errors of this package, in addition to link.ErrImpossible and those of package network.
var (
	// ErrUnknownNetwork means that no network has the identifier.
	ErrUnknownNetwork = errors.New("unknown network")
	// ErrUnknownEndpoint means that no endpoint has the identifier.
	ErrUnknownEndpoint = errors.New("unknown endpoint")
)

// Kernel changes links; link.Kernel implements it and documents the errors. All methods are idempotent and have a time
// limit.
type Kernel interface {
	EnsureSegment(ctx context.Context, s link.Segment) error
	RemoveSegment(ctx context.Context, s link.Segment, keepVLAN bool) error
	EnsurePort(ctx context.Context, s link.Segment, p link.Port) (link.Port, error)
	RemovePort(ctx context.Context, s link.Segment, endpoint string) error
	Marked(ctx context.Context) ([]link.Marked, error)
}

// Leases returns allocations of Docker's IPAM; ipam.Driver implements it.
type Leases interface {
	// Find returns the allocation of an address in a subnet of Graft's address spaces, and its pool. The error
	// wraps network.ErrNotHeld.
	Find(
		ctx context.Context, space string, subnet netip.Prefix, address netip.Addr,
	) (network.Allocation, *policy.Pool, error)
	// Sweep releases addresses that have been unused for a grace period. It returns the errors of all leases.
	Sweep(ctx context.Context) error
}

// Options configure a Driver.
type Options struct {
	// Policy returns the active policy.
	Policy func() *policy.Policy
	Leases Leases
	// Store has the rows; it is the ledger's.
	Store  ledger.Store
	Kernel Kernel
	// Node is the name of this machine, or "" if the store belongs to this machine alone.
	Node  string
	Clock clock.WithTicker
	// Boot identifies the time since the machine's start. The links of a row with another Boot no longer exist.
	// "" means unknown.
	Boot string
	// Lives reports whether a sandbox may exist. Nil means unknown.
	Lives func(sandbox string) bool
	// Patience limits the work that follows a failure. The default is 10 seconds.
	Patience time.Duration
	// Grace is the time for which presumably stale objects are kept (default 10 minutes). Period is the time between
	// reconciliations (default 1 minute).
	Grace, Period time.Duration
	// Report receives errors of background work. Removed receives each object that the reconciler removed: a network by
	// its identifier, an endpoint by <network>/<endpoint>, or a link by its name.
	Report  func(error)
	Removed func(what, name string)
}

// Driver manages the networks and endpoints of this machine. It is safe for concurrent use.
type Driver struct {
	options   Options
	networks  *record.Table[networkRow]
	endpoints *record.Table[endpointRow]
	nodes     *record.Table[nodeRow]
	// lock is held by a request, and by the reconciliation of one object.
	lock *semaphore.Weighted

	// reconciling is held during a reconciliation. It guards seen, which has the times when endpoints without a container
	// and links without a row were seen first.
	reconciling sync.Mutex
	seen        map[string]time.Time

	// reported has the persistent conditions that were reported.
	reported sync.Map
}

// New returns a Driver. It reads and changes nothing yet.
func New(o Options) *Driver {
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	o.Grace, o.Period = cmp.Or(o.Grace, 10*time.Minute), cmp.Or(o.Period, time.Minute)
	return &Driver{
		options:   o,
		networks:  record.New[networkRow](o.Store, o.Node, "network"),
		endpoints: record.New[endpointRow](o.Store, o.Node, "endpoint"),
		nodes:     record.New[nodeRow](o.Store, o.Node, "node"),
		lock:      semaphore.NewWeighted(1),
	}
}
