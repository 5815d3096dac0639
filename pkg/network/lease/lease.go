// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lease hands out pools and their addresses to whoever names no owner, as Docker's IPAM does: a pool is leased, an address is of a lease, and
// only what came out of a lease can be given back under its identifier. Leases are rows, addresses are allocations of the ledger's; after a restart of
// the client the same ones are confirmed.
//
// It knows no wire, and has no clock but the one that it is given. Enter at New.
package lease

import (
	"context"
	"net/netip"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// The address spaces: what is leased in the local one is this node's, and in the global one that of all nodes of a cluster.
const (
	LocalSpace  = "graft-local"
	GlobalSpace = "graft-global"
)

// Options are those of leases.
type Options struct {
	// Service, Policy, Store and Clock are required. Policy is what is in force.
	Service *service.Service
	Policy  func() *policy.Policy
	Store   ledger.Store
	Clock   clock.WithTicker
	// Node is this one; empty: the only one.
	Node string
	// Grace is how long an address stays whose lease is gone. Default 10 minutes. Period is how often it is looked for. Default 1 minute.
	Grace, Period time.Duration
	// Report is told of what went wrong in the background, and of what was freed; nil: nobody is.
	Report func(error)
}

// Pool is a pool on lease.
type Pool struct {
	// ID is the identifier for the client, Space the address space, and Pool the name of the pool.
	ID    string `json:"id"`
	Space string `json:"space"`
	Pool  string `json:"pool"`
	// Prefix is the subnet of the pool, and Within the part of it that addresses are chosen in; not valid: all of it.
	Prefix netip.Prefix `json:"prefix"`
	Within netip.Prefix `json:"within,omitzero"`
	// Profile is the one by which it was chosen; empty: none. Options are all that the user has said.
	Profile string            `json:"profile,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Activation is the number of the client's start in which it was asked for last.
	Activation int `json:"activation,omitempty"`
	// Used says that an address of it was asked for, so that the client knows of the lease. Since is when it began.
	Used  bool      `json:"used,omitempty"`
	Since time.Time `json:"since"`
}

// PoolRequest is what a client wants to lease.
type PoolRequest struct {
	Space string
	// Subnet is the one that is wanted; not valid, or of the address 0: the choice is free. Within is the part of it that addresses are chosen in.
	Subnet, Within netip.Prefix
	// Options are profile= and pool=; those of com.docker.* are let pass.
	Options map[string]string
	// Six wants IPv6 where no subnet is named.
	Six bool
}

// Leases are those of this node. They are safe for concurrent use.
type Leases struct{ Options }

// New makes leases.
func New(o Options) *Leases { return &Leases{o} }

// Activate begins a new activation: the client has started, and asks again for what it has.
func (l *Leases) Activate(ctx context.Context) error { return network.ErrUnavailable }

// RequestPool leases a pool.
func (l *Leases) RequestPool(ctx context.Context, r PoolRequest) (Pool, error) {
	return Pool{}, network.ErrUnavailable
}

// ReleasePool ends a lease; one that there is not is no error.
func (l *Leases) ReleasePool(ctx context.Context, id string) error { return network.ErrUnavailable }

// RequestAddress gives an address of a lease: the one that is named, or one of the ledger's choice.
func (l *Leases) RequestAddress(ctx context.Context, id string, address netip.Addr, options map[string]string) (netip.Prefix, error) {
	return netip.Prefix{}, network.ErrUnavailable
}

// ReleaseAddress takes back an address that came out of a lease; one that did not is no error, and stays as it is.
func (l *Leases) ReleaseAddress(ctx context.Context, id string, address netip.Addr) error {
	return network.ErrUnavailable
}

// Find is the allocation of an address that came out of a lease in a space, and its pool; nil when the policy has it no more. The error wraps
// network.ErrNotHeld when there is none.
func (l *Leases) Find(ctx context.Context, space string, address netip.Addr) (network.Allocation, *policy.Pool, error) {
	return network.Allocation{}, nil, network.ErrNotHeld
}

// Run sweeps until the context ends.
func (l *Leases) Run(ctx context.Context) { <-ctx.Done() }
