// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package docker answers Docker's contract of remote network drivers and of remote IPAM drivers (libnetwork's drivers/remote and ipams/remote), in
// all shapes that its clients send, from those of the first description of the contract to moby's v2. docs/usage/docker.md says what is answered when.
//
// It keeps no state: package driver has the networks and endpoints, package ipam the pools and addresses. It never calls
// Docker, which waits for the answer. Start reading at New.
package docker

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// Contract is the name of the wire, and that of its owners in the ledger.
const Contract = ipam.Contract

// Patience is how long a caller waits for an answer where Options do not say it: Docker itself would wait for ever for a plugin that has a socket or a
// file, and 30 seconds for one that it has installed.
const Patience = 25 * time.Second

// The scopes that a driver can have.
const (
	ScopeLocal  = "local"
	ScopeGlobal = "global"
)

// Networks are the networks and endpoints of this machine.
type Networks interface {
	Check(ctx context.Context, n driver.Network) (driver.Network, error)
	Allocate(ctx context.Context, n driver.Network) (map[string]string, error)
	Free(ctx context.Context, id string) error
	CreateNetwork(ctx context.Context, n driver.Network) error
	DeleteNetwork(ctx context.Context, id string) error
	Network(ctx context.Context, id string) (driver.Network, error)
	CreateEndpoint(ctx context.Context, e driver.Endpoint) (driver.Endpoint, error)
	Endpoint(ctx context.Context, network, id string) (driver.Endpoint, error)
	DeleteEndpoint(ctx context.Context, network, id string) error
	Join(ctx context.Context, network, id, sandbox string) (driver.Endpoint, driver.Network, error)
	Leave(ctx context.Context, network, id string) error
	Discovered(ctx context.Context, node netip.Addr, self, gone bool) error
}

// Leases are the pools and addresses that Docker has on lease.
type Leases interface {
	Activate(ctx context.Context) error
	RequestPool(ctx context.Context, r ipam.PoolRequest) (ipam.Pool, error)
	Known(ctx context.Context, space string, subnet netip.Prefix, network string) error
	ReleasePool(ctx context.Context, id string) error
	RequestAddress(ctx context.Context, id string, address netip.Addr, options map[string]string) (netip.Prefix, error)
	ReleaseAddress(ctx context.Context, id string, address netip.Addr) error
}

// Options are those of the codec.
type Options struct {
	wire.Options
	Networks Networks
	Leases   Leases
	// Scope says whether a network is of this machine (local) or of a Swarm (global), and Connectivity how far its containers come. Default local, and
	// the scope.
	Scope, Connectivity string
	// Failed is told of each answer that says Err, as most of them have the status 200: of which method, empty where there is none, and whether the fault
	// is on this side. It may be nil.
	Failed func(method string, ours bool)
	// Patience is how long a caller waits for an answer; what goes on is found by the next attempt. Default Patience.
	Patience time.Duration
}

// handler answers requests.
type handler struct {
	Options
	// activated says that Docker's start was heard of since this process has started.
	activated atomic.Bool
}

// New answers both parts of the contract. A success is exactly 200, and so is what cannot be done, which says Err (Error in the IPAM part); what cannot be
// read is 400, and a method that there is not 404, by which Docker knows that a driver is older than itself.
func New(o Options) http.Handler {
	o.Scope = cmp.Or(o.Scope, ScopeLocal)
	o.Connectivity = cmp.Or(o.Connectivity, o.Scope)
	if o.Patience <= 0 {
		o.Patience = Patience
	}
	if o.Failed == nil {
		o.Failed = func(string, bool) {}
	}
	return &handler{Options: o}
}

// methods are all that there are.
var methods = map[string]method{
	"Plugin.Activate": without((*handler).activate),

	"NetworkDriver.GetCapabilities":             without((*handler).capabilities),
	"NetworkDriver.GwAllocCheck":                with((*handler).checkGateways),
	"NetworkDriver.AllocateNetwork":             with((*handler).allocateNetwork),
	"NetworkDriver.FreeNetwork":                 with((*handler).freeNetwork),
	"NetworkDriver.CreateNetwork":               with((*handler).createNetwork),
	"NetworkDriver.DeleteNetwork":               with((*handler).deleteNetwork),
	"NetworkDriver.CreateEndpoint":              with((*handler).createEndpoint),
	"NetworkDriver.EndpointOperInfo":            with((*handler).endpointInfo),
	"NetworkDriver.DeleteEndpoint":              with((*handler).deleteEndpoint),
	"NetworkDriver.Join":                        with((*handler).join),
	"NetworkDriver.Leave":                       with((*handler).leave),
	"NetworkDriver.ProgramExternalConnectivity": with((*handler).programConnectivity),
	"NetworkDriver.RevokeExternalConnectivity":  with((*handler).revokeConnectivity),
	"NetworkDriver.DiscoverNew":                 with((*handler).discoverNew),
	"NetworkDriver.DiscoverDelete":              with((*handler).discoverDelete),

	"IpamDriver.GetCapabilities":         without((*handler).ipamCapabilities),
	"IpamDriver.GetDefaultAddressSpaces": without((*handler).addressSpaces),
	"IpamDriver.RequestPool":             with((*handler).requestPool),
	"IpamDriver.ReleasePool":             with((*handler).releasePool),
	"IpamDriver.RequestAddress":          with((*handler).requestAddress),
	"IpamDriver.ReleaseAddress":          with((*handler).releaseAddress),
}

// Endpoint names what is asked for by a path, for metrics; empty: it is none of the contract.
func Endpoint(path string) string {
	name := strings.TrimPrefix(path, "/")
	if _, known := methods[name]; known && name != path {
		return name
	}
	return ""
}
