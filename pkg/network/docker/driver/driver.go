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
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
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
	// Patience limits the work that follows a failure.
	Patience time.Duration
	// Grace is the time for which presumably stale objects are kept, and Period the time between reconciliations.
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
	return &Driver{
		options:   o,
		networks:  record.New[networkRow](o.Store, o.Node, "network"),
		endpoints: record.New[endpointRow](o.Store, o.Node, "endpoint"),
		nodes:     record.New[nodeRow](o.Store, o.Node, "node"),
		lock:      semaphore.NewWeighted(1),
	}
}

// Network is a network of containers. The request sets ID, Subnets, Internal and Options; the driver sets the
// rest.
type Network struct {
	ID string `json:"id"`
	// Profile is the name of the selected profile, or "".
	Profile string    `json:"profile,omitempty"`
	Link    link.Spec `json:"link"`
	// Subnets are the network's subnets, as the IPAM driver described them.
	Subnets []Subnet `json:"subnets,omitempty"`
	// Internal prevents access to the outside. Isolated also prevents it through other networks.
	Internal bool `json:"internal,omitempty"`
	Isolated bool `json:"isolated,omitempty"`
	// Outside states that the gateways are routers outside of this machine, so that the bridge does not have
	// their addresses.
	Outside bool `json:"outside,omitempty"`
	// Prefix starts the names of interfaces in sandboxes. The default is eth.
	Prefix string `json:"prefix,omitempty"`
	// Options are the user's options without a change.
	Options map[string]string `json:"options,omitempty"`
}

// Subnet is a subnet of a network, as an IPAM driver described it. A prefix of 0 bits means that the driver
// allocates no addresses.
type Subnet struct {
	// Space is the address space, which identifies the IPAM driver.
	Space   string       `json:"space,omitempty"`
	Prefix  netip.Prefix `json:"prefix"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	// Auxiliary has reserved addresses by name. They are never allocated.
	Auxiliary map[string]netip.Addr `json:"auxiliary,omitempty"`
}

// Endpoint is an interface of a container in a network. The request sets Network, ID and Options, and
// optionally Addresses, MAC and Name; the driver sets the rest.
type Endpoint struct {
	Network string `json:"network"`
	ID      string `json:"id"`
	// Addresses have the prefix lengths of their subnets, at most one of each family.
	Addresses []netip.Prefix       `json:"addresses,omitempty"`
	MAC       network.HardwareAddr `json:"mac,omitempty"`
	VLAN      int                  `json:"vlan,omitempty"`
	// Name is the interface's name in the sandbox. By default the sandbox chooses one with the network's
	// prefix.
	Name string `json:"name,omitempty"`
	// Routes and Gateways are set in the sandbox. A default route over the link has no gateway.
	Routes   []network.Route `json:"routes,omitempty"`
	Gateways []netip.Addr    `json:"gateways,omitempty"`
	// Sandbox is the sandbox of the endpoint, or "".
	Sandbox string `json:"sandbox,omitempty"`
	// Options are the user's options.
	Options map[string]string `json:"options,omitempty"`
}

// state is the progress of a network or an endpoint. A row is written before the kernel is changed.
type state string

const (
	// ready: complete. The links match the row, or the reconciler makes them match.
	ready state = "ready"
	// unfinished: being created or removed. After a crash or a failure it is removed. Earlier versions also wrote
	// "making".
	unfinished state = "removing"
)

// networkRow is a stored network.
type networkRow struct {
	Network
	State state `json:"state"`
	// Since is the begin of the state.
	Since time.Time `json:"since"`
	// Gateways are the addresses of the bridge, with prefix lengths.
	Gateways []netip.Prefix `json:"gateways,omitempty"`
}

// endpointRow is a stored endpoint.
type endpointRow struct {
	Endpoint
	State state `json:"state"`
	// Since is the begin of the state, or the time of joining or leaving the sandbox.
	Since time.Time `json:"since"`
	// Boot is the value of Options.Boot when its links were created.
	Boot string `json:"boot,omitempty"`
	// Trunk is the parent on which the endpoint has its own VLAN, or "".
	Trunk string `json:"trunk,omitempty"`
}

// nodeRow is a machine that Docker announced, stored by its address.
type nodeRow struct {
	// Self is true for this machine.
	Self bool `json:"self,omitempty"`
}

// exists returns ErrUnknownNetwork if there is no complete network.
func (r networkRow) exists(id string) error {
	if r.State != ready {
		return fmt.Errorf("%w %s", ErrUnknownNetwork, short(id))
	}
	return nil
}

// exists returns ErrUnknownEndpoint if there is no complete endpoint.
func (r endpointRow) exists(id string) error {
	if r.State != ready {
		return fmt.Errorf("%w %s", ErrUnknownEndpoint, short(id))
	}
	return nil
}

// key returns the row's key. Identifiers contain no slash.
func (r endpointRow) key() string { return endpointKey(r.Network, r.ID) }

func endpointKey(network, id string) string { return network + "/" + id }

// hasAddress reports whether an endpoint has an address.
func (e Endpoint) hasAddress(address netip.Addr) bool {
	return slices.ContainsFunc(e.Addresses, func(own netip.Prefix) bool { return own.Addr() == address })
}

// IsAllocated reports whether the IPAM driver allocates addresses of the subnet.
func (s Subnet) IsAllocated() bool { return s.Prefix.Bits() > 0 }

// leased reports whether the subnet belongs to one of Graft's address spaces.
func (s Subnet) leased() bool { return s.Space == ipam.LocalSpace || s.Space == ipam.GlobalSpace }

// exclusive reports whether the IPAM driver never allocates an address of the space to two existing networks.
func (s Subnet) exclusive() bool {
	return s.leased() || s.Space == "LocalDefault" || s.Space == "GlobalDefault"
}

// overlap returns the subnet of a pool that overlaps this one, if another IPAM driver allocates from this one.
func (s Subnet) overlap(pool *policy.Pool) (prefix netip.Prefix, overlaps bool) {
	if s.leased() || !s.IsAllocated() {
		return prefix, false
	}
	for _, of := range pool.Subnets {
		if of.Prefix.Overlaps(s.Prefix) {
			return of.Prefix, true
		}
	}
	return prefix, false
}

// checkOverlap returns an error if another IPAM driver allocates addresses of a pool from the subnet.
func (s Subnet) checkOverlap(p *policy.Policy) error {
	for _, name := range slices.Sorted(maps.Keys(p.Pools)) {
		if prefix, overlaps := s.overlap(p.Pools[name]); overlaps {
			return fmt.Errorf("%w: %s overlaps %s of the pool %s, which is used by other networks, too: use "+
				"--ipam-driver graft --ipam-opt pool=%s", link.ErrImpossible, s.Prefix, prefix, name, name)
		}
	}
	return nil
}

// isRouted reports whether the network's links route by address without neighbor discovery, so that there is no
// gateway.
func (n Network) isRouted() bool {
	return n.Link.Kind == link.Ipvlan && (n.Link.Mode == "l3" || n.Link.Mode == "l3s")
}

// NeedsGateway reports whether the network uses a gateway address: for the bridge, or as way out.
func (n Network) NeedsGateway() bool {
	return !n.Isolated && !n.isRouted() && (!n.Internal || !n.Outside)
}

// short returns an identifier in Docker's short form.
func short(id string) string { return id[:min(len(id), 12)] }
