// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package docker implements the APIs of Docker's remote network drivers and remote IPAM drivers (libnetwork's
// drivers/remote and ipams/remote), in all forms that its clients have sent, from the first description of the
// API to moby v2. docs/usage/docker.md describes the calls.
//
// It keeps no state: package driver has the networks and endpoints, package ipam the pools and addresses. It
// never calls Docker, which waits for the response. Start reading at New.
package docker

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
)

// Contract is the name of the API, and of its owners in the ledger.
const Contract = ipam.Contract

// Patience is the default time limit of a request. Docker waits without limit for a plugin with a socket or a
// spec file, and 30 seconds for a managed plugin.
const Patience = 25 * time.Second

// The scopes of a driver.
const (
	ScopeLocal  = "local"
	ScopeGlobal = "global"
)

// Options configure the codec.
type Options struct {
	wire.Options
	// Networks has the networks and endpoints of this machine, Leases the leased pools and addresses.
	Networks *driver.Driver
	Leases   *ipam.Driver
	// Scope is the scope of networks: this machine (local) or a Swarm (global). Connectivity is the reach of
	// their containers. The defaults are local, and the scope.
	Scope, Connectivity string
	// Failed is called for each error answer, because most have status 200. method is "" if it is unknown. ours
	// is true for a fault of the server. It may be nil.
	Failed func(method string, ours bool)
	// Patience limits the time of a request. Work that takes longer continues, and a retry finds its result.
	// The default is Patience.
	Patience time.Duration
}

// handler handles requests.
type handler struct {
	Options
	// activated is true after Docker activated the plugin in this process.
	activated atomic.Bool
}

// New returns a handler for both APIs. The status is 200 for a success and for an operation that fails (field
// Err, or Error for IPAM), 400 for an unreadable request, and 404 for an unknown method, which tells Docker
// that the driver is older.
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

// method is a method of the APIs.
type method struct {
	// do executes a request and returns the response. Nil is an empty response.
	do func(h *handler, ctx context.Context, q *request) (any, error)
	// check validates the identifiers of a request. It may be nil.
	check func(*request) error
	// noBody is true for a method without arguments: the body of its requests is not read.
	noBody bool
	// event is the log line of a success, or "", and verbosity its level.
	event     string
	verbosity int
}

// methods lists all methods. Networks change rarely, endpoints with each container.
var methods = map[string]method{
	"Plugin.Activate": {do: (*handler).activate, noBody: true},

	"NetworkDriver.GetCapabilities": {do: (*handler).capabilities, noBody: true},
	"NetworkDriver.GwAllocCheck":    {do: (*handler).checkGateways},
	"NetworkDriver.AllocateNetwork": {do: (*handler).allocateNetwork, check: (*request).checkNetwork},
	"NetworkDriver.FreeNetwork":     {do: (*handler).ignore, check: (*request).checkNetwork}, // AllocateNetwork stores nothing
	"NetworkDriver.CreateNetwork": {do: (*handler).createNetwork, check: (*request).checkNetwork,
		event: "Created a network"},
	"NetworkDriver.DeleteNetwork": {do: (*handler).deleteNetwork, check: (*request).checkNetwork,
		event: "Removed a network"},
	"NetworkDriver.CreateEndpoint": {do: (*handler).createEndpoint, check: (*request).checkEndpoint,
		event: "Created an endpoint", verbosity: 1},
	"NetworkDriver.DeleteEndpoint": {do: (*handler).deleteEndpoint, check: (*request).checkEndpoint,
		event: "Removed an endpoint", verbosity: 1},
	"NetworkDriver.EndpointOperInfo":            {do: (*handler).endpointInfo, check: (*request).checkEndpoint},
	"NetworkDriver.Join":                        {do: (*handler).join, check: (*request).checkEndpoint},
	"NetworkDriver.Leave":                       {do: (*handler).leave, check: (*request).checkEndpoint},
	"NetworkDriver.ProgramExternalConnectivity": {do: (*handler).refusePorts, check: (*request).checkEndpoint},
	"NetworkDriver.RevokeExternalConnectivity":  {do: (*handler).ignore, check: (*request).checkEndpoint}, // no port is published
	"NetworkDriver.DiscoverNew":                 {do: discover(false)},
	"NetworkDriver.DiscoverDelete":              {do: discover(true)},

	"IpamDriver.GetCapabilities":         {do: (*handler).ipamCapabilities, noBody: true},
	"IpamDriver.GetDefaultAddressSpaces": {do: (*handler).addressSpaces, noBody: true},
	"IpamDriver.RequestPool":             {do: (*handler).requestPool},
	"IpamDriver.ReleasePool":             {do: (*handler).releasePool, check: (*request).checkPool},
	"IpamDriver.RequestAddress":          {do: (*handler).requestAddress, check: (*request).checkPool},
	"IpamDriver.ReleaseAddress":          {do: (*handler).releaseAddress, check: (*request).checkPool},
}

// Endpoint returns the method of a path, for metrics, or "" if there is none.
func Endpoint(path string) string {
	name := strings.TrimPrefix(path, "/")
	if _, known := methods[name]; known && name != path {
		return name
	}
	return ""
}
