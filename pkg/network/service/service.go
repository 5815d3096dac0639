// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package service is the allocation wing's one way to do things: allocate, release, and bring to an end what a crash has left.
// An allocation is a saga of two: the ledger remembers first, the cloud is asked then, and whatever breaks between is found and
// finished. No caller's departure breaks it off.
//
// It has no clock but the one that it is given, knows no wire, and imports neither a store nor a cloud. Enter at New.
package service

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Pool is what the service must know of a pool beside what the ledger does.
type Pool struct {
	// Cloud is the one behind the pool; nil: there is none to be asked, and an allocation is one commit.
	Cloud cloud.Cloud
	// CloudName is what rows say of what it binds; empty: they say nothing, and go to whichever is behind the pool.
	CloudName string
	// Rest is how long what was released is given to nobody.
	Rest time.Duration
	// Gate bounds what is asked of the cloud; nil: nothing does.
	Gate *Gate

	// retired says that it is there only for what was given out of it before.
	retired bool
}

// Options are those of a service.
type Options struct {
	// Clock is required.
	Clock clock.WithTickerAndDelayedExecution
	// Budget bounds the work for one allocation or release, whether or not its caller still waits. Default 2 minutes.
	Budget time.Duration
	// Releasers are how many releases are worked on at a time. Default 8.
	Releasers int
	// Random gives numbers from 0 up to 1, which part attempts that fail at the same time; nil: they stay together.
	Random func() float64
	// Barred says why a pool gives nothing to owners that hold nothing, though it is in force; nil: nothing keeps any from it.
	Barred func(ctx context.Context, pool string) error
	// Report is told of what went wrong in the background; nil: nobody is.
	Report func(network.Owner, error)
}

// Service allocates and releases. It is safe for concurrent use.
type Service struct {
	ledger  *ledger.Ledger
	options Options
	// in is what is in force; it is swapped as a whole.
	in atomic.Pointer[state]

	// mutex guards flights, ended and staying: what is being done, by owner. One thing at a time is done for an owner.
	mutex   sync.Mutex
	flights map[network.Owner]*flight
	ended   bool
	flying  sync.WaitGroup
	// staying are how many releases the service waits for that have not begun, and whose callers have left.
	staying int

	// found is how many releases the last look has found.
	found atomic.Int64
	// asked are the clouds that are asked in the background what has become of intents, by name.
	asked sync.Map

	releases  *queue
	parked    parked
	exhausted exhaustions
}

// New makes a service; pools are by name, the same as those of the ledger.
func New(l *ledger.Ledger, pools map[string]Pool, o Options) *Service {
	if o.Budget == 0 {
		o.Budget = 2 * time.Minute
	}
	if o.Releasers == 0 {
		o.Releasers = 8
	}
	if o.Report == nil {
		o.Report = func(network.Owner, error) {}
	}
	s := &Service{ledger: l, options: o, flights: map[network.Owner]*flight{}, releases: newQueue(o.Clock, o.Random)}
	s.Configure(pools, nil)
	return s
}

// Request is what an owner wants.
type Request struct {
	Owner network.Owner
	Pool  string
	// Addresses are asked for by name; Families are those that are wanted beside them, nil: all of the pool.
	Addresses []netip.Addr
	Families  []int
	// Kin says whose addresses it is given by name while they rest; see ledger.Intent.
	Kin   string
	Trunk network.Trunk
	// Holder is whoever the owner stands for.
	Holder network.Holder
	// Quotas are those that the request counts for.
	Quotas []ledger.Quota
	// TakeOver takes an address that is asked for by name from another owner of the same contract: its caller is the one who
	// decides about addresses, and has given this one away already.
	TakeOver bool
}

// Get is what an owner holds. The error wraps network.ErrNotHeld.
func (s *Service) Get(ctx context.Context, owner network.Owner) (network.Allocation, error) {
	return s.ledger.Get(ctx, owner)
}

// At is the allocation of an address. The error wraps network.ErrNotHeld.
func (s *Service) At(ctx context.Context, pool string, address netip.Addr) (network.Allocation, error) {
	return s.ledger.At(ctx, pool, address)
}
