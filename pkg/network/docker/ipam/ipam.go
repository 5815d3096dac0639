// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ipam is the IPAM driver of Docker: it gives out pools and their addresses to a caller that names no owner.
// A lease of a pool is a row, and an address is an allocation of the ledger. Only what came out of a lease can be given
// back under its identifier. After its restart Docker asks again for all that it has, and gets the same.
//
// It decodes no requests, knows no concrete store, and uses the clock that it is given. Start reading at RequestPool.
package ipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// Contract is that of the owners of addresses.
const Contract = "docker"

// The address spaces: what is leased in the local one is this node's, and in the global one that of all nodes of a cluster.
const (
	LocalSpace  = "graft-local"
	GlobalSpace = "graft-global"
)

// The errors at the border, beside those of package network. Their texts are for the people who asked.
var (
	// ErrUnknown says that there is no lease of an identifier, and that there cannot be one.
	ErrUnknown = errors.New("there is no such pool on lease")
	// ErrRequest says that what is asked for makes no sense, however often it is asked for.
	ErrRequest = errors.New("not possible")
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
	// Grace is how long an address stays that nobody needs any more. Default 10 minutes. Period is how often it is looked for. Default 1 minute.
	Grace, Period time.Duration
	// Knows says whether a network is there that has a subnet of a space, and whether any network with the subnet, or somebody in one, has an address;
	// nil: none is there.
	Knows func(ctx context.Context, network, space string, subnet netip.Prefix, address netip.Addr) (there, has bool, err error)
	// Freed is told of what nobody needed any more, and Report of what went wrong in the background; nil: nobody is.
	Freed  func(network.Allocation)
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
	// Gateway is the one that the pool declared when the lease began; it is never given to anybody else.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Profile is the one by which it was chosen; empty: none. Options are all that the user has said.
	Profile string            `json:"profile,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Activation is the number of the client's start in which it was asked for last. Term tells leases of one identifier apart that follow each other.
	Activation int    `json:"activation,omitempty"`
	Term       string `json:"term"`
	// Used says that an address of it was asked for, so that the client knows of the lease; Users are by whom, in the global space.
	Used  bool     `json:"used,omitempty"`
	Users []string `json:"users,omitempty"`
	// Network is the one that the client has named since it asked for the lease last, in the local space; empty: none. See Known.
	Network string `json:"network,omitempty"`
	// Since is when it began.
	Since time.Time `json:"since"`
}

// part is what addresses are chosen in.
func (p Pool) part() netip.Prefix {
	if p.Within.IsValid() {
		return p.Within
	}
	return p.Prefix
}

// Driver are those of this node. They are safe for concurrent use.
type Driver struct {
	options Options
	local   *space
	global  *space
	starts  *record.Table[start]
	// life, which names this process, and number make names that nobody else makes; see unique.
	life   string
	number atomic.Uint64

	// mutex is held while leases are chosen and changed, one at a time. It guards started, which is nil before the first use.
	mutex   sync.Mutex
	started *start
	// untold are the leases that could not be written, or so it seems: the client was not told of them.
	untold map[string]bool
	// networks are those that leases of the local space are noted to be of, by the subnets: what is in the rows, so that they need not be read.
	networks sync.Map
	// gone are the addresses that nobody needed in the last sweep, with the time since when.
	gone map[holding]time.Time
}

// holding is an address as it was given once: what its owner is given later is another one, of which nobody knows yet whether it is needed.
type holding struct {
	owner network.Owner
	uid   string
}

// start is the last one of the client.
type start struct {
	Activation int       `json:"activation"`
	At         time.Time `json:"at"`
}

// keyStart is the only key of the table of starts.
const keyStart = "last"

// New makes leases.
func New(o Options) *Driver {
	o.Grace, o.Period = cmp.Or(o.Grace, 10*time.Minute), cmp.Or(o.Period, time.Minute)
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Freed == nil {
		o.Freed = func(network.Allocation) {}
	}
	if o.Knows == nil {
		o.Knows = func(context.Context, string, string, netip.Prefix, netip.Addr) (there, has bool, err error) {
			return false, false, nil
		}
	}
	return &Driver{
		options: o,
		local:   &space{name: LocalSpace, short: "local", node: o.Node, table: record.New[Pool](o.Store, o.Node, "lease")},
		global:  &space{name: GlobalSpace, short: "global", shared: true, table: record.New[Pool](o.Store, "", "lease-global")},
		starts:  record.New[start](o.Store, o.Node, "lease-start"),
		life:    o.Node + "-" + strconv.FormatInt(o.Clock.Now().UnixNano(), 36),
		untold:  map[string]bool{},
		gone:    map[holding]time.Time{},
	}
}

// unique is a name that nobody else makes.
func (l *Driver) unique() string { return l.life + "-" + strconv.FormatUint(l.number.Add(1), 36) }

// Activate begins a new activation: the client has started, and asks again for what it has.
func (l *Driver) Activate(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.started = nil
	last, err := l.last(ctx)
	if err != nil {
		return err
	}
	next := start{Activation: last.Activation + 1, At: l.options.Clock.Now().UTC()}
	if err := l.starts.Put(ctx, keyStart, next); err != nil {
		l.started = nil
		return fmt.Errorf("noting a start of the client: %w", err)
	}
	l.started = &next
	return nil
}

// last is the last start. The mutex is held.
func (l *Driver) last(ctx context.Context) (start, error) {
	if l.started == nil {
		read, _, err := l.starts.Get(ctx, keyStart)
		if err != nil {
			return start{}, fmt.Errorf("reading the last start of the client: %w", err)
		}
		l.started = &read
	}
	return *l.started, nil
}

// activation is the number of the last start.
func (l *Driver) activation(ctx context.Context) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	last, err := l.last(ctx)
	return last.Activation, err
}
