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
	"errors"
	"io/fs"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
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
	"NetworkDriver.DeleteNetwork": {check: (*request).checkNetwork, event: "Removed a network",
		do: func(h *handler, ctx context.Context, q *request) (any, error) {
			return nil, h.Networks.DeleteNetwork(ctx, q.NetworkID)
		}},
	"NetworkDriver.CreateEndpoint": {do: (*handler).createEndpoint, check: (*request).checkEndpoint,
		event: "Created an endpoint", verbosity: 1},
	"NetworkDriver.DeleteEndpoint": {check: (*request).checkEndpoint, event: "Removed an endpoint", verbosity: 1,
		do: func(h *handler, ctx context.Context, q *request) (any, error) {
			return nil, h.Networks.DeleteEndpoint(ctx, q.NetworkID, q.EndpointID)
		}},
	"NetworkDriver.EndpointOperInfo": {do: (*handler).endpointInfo, check: (*request).checkEndpoint},
	"NetworkDriver.Join":             {do: (*handler).join, check: (*request).checkEndpoint},
	"NetworkDriver.Leave": {check: (*request).checkEndpoint,
		do: func(h *handler, ctx context.Context, q *request) (any, error) {
			return nil, h.Networks.Leave(ctx, q.NetworkID, q.EndpointID)
		}},
	"NetworkDriver.ProgramExternalConnectivity": {do: (*handler).refusePorts, check: (*request).checkEndpoint},
	"NetworkDriver.RevokeExternalConnectivity":  {do: (*handler).ignore, check: (*request).checkEndpoint}, // no port is published
	"NetworkDriver.DiscoverNew":                 {do: discover(false)},
	"NetworkDriver.DiscoverDelete":              {do: discover(true)},

	"IpamDriver.GetCapabilities":         {do: (*handler).ipamCapabilities, noBody: true},
	"IpamDriver.GetDefaultAddressSpaces": {do: (*handler).addressSpaces, noBody: true},
	"IpamDriver.RequestPool":             {do: (*handler).requestPool},
	"IpamDriver.ReleasePool": {check: (*request).checkPool,
		do: func(h *handler, ctx context.Context, q *request) (any, error) {
			return nil, h.Leases.ReleasePool(ctx, q.PoolID)
		}},
	"IpamDriver.RequestAddress": {do: (*handler).requestAddress, check: (*request).checkPool},
	"IpamDriver.ReleaseAddress": {do: (*handler).releaseAddress, check: (*request).checkPool},
}

// Endpoint returns the method of a path, for metrics, or "" if there is none.
func Endpoint(path string) string {
	name := strings.TrimPrefix(path, "/")
	if _, known := methods[name]; known && name != path {
		return name
	}
	return ""
}

// mediaType is the Content-Type of all responses. Clients send it in Accept, but ignore it in responses.
const mediaType = "application/vnd.docker.plugins.v1.2+json"

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := Endpoint(r.URL.Path)
	m, known := methods[name]
	var q request
	var answer any
	var err error
	switch {
	case !known:
		err = wire.Problemf(http.StatusNotFound, "the method does not exist")
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		err = wire.Problemf(http.StatusMethodNotAllowed, "%s needs the method POST", name)
	default:
		if err = h.read(w, r, m, &q); err == nil {
			answer, err = h.withTimeout(r.Context(), func(ctx context.Context) (any, error) { return m.do(h, ctx, &q) })
		}
	}
	if err != nil {
		h.fail(w, r, &q, err)
		return
	}
	if m.event != "" {
		h.Log.V(m.verbosity).Info(m.event, q.about()...)
	}
	wire.WriteAs(w, http.StatusOK, mediaType, answer)
}

// read decodes a request. It fails for an unreadable one. Docker's client sends an empty body when it retries a call
// after a lost connection (moby/moby#39331); any response ends these retries.
func (h *handler) read(w http.ResponseWriter, r *http.Request, m method, q *request) error {
	if m.noBody {
		return nil
	}
	err := wire.Read(w, r, h.MaximumBytes, q)
	if errors.Is(err, wire.ErrNoBody) {
		return wire.Problemf(http.StatusBadRequest,
			"the request has no body, because Docker repeated it after a lost connection; nothing was changed by this "+
				"attempt: try again")
	}
	if err == nil && m.check != nil {
		err = m.check(q)
	}
	return err
}

// withTimeout executes a call with a time limit. It continues if the client disconnects, to avoid partial results.
func (h *handler) withTimeout(caller context.Context, do func(context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), h.Patience)
	var answer any
	var err error
	var panicked *wire.Panic
	ended := make(chan struct{})
	go func() {
		defer cancel()
		defer close(ended)
		defer func() {
			if value := recover(); value != nil {
				panicked = &wire.Panic{Value: value, Stack: debug.Stack()}
			}
		}()
		answer, err = do(ctx)
	}()
	<-ctx.Done()
	select {
	case <-ended:
	default:
		return nil, ctx.Err()
	}
	if panicked != nil {
		panic(panicked) // on the goroutine of the request
	}
	if answer == nil {
		answer = fields{}
	}
	return answer, err
}

// errorBody is the body of an error. Docker's client reads Err if the status is not 200 (pkg/plugins). The IPAM
// driver reads Error if it is 200.
type errorBody struct {
	Err   string `json:"Err"`
	Error string `json:"Error,omitempty"`
}

// Refuse writes an error in the form of the API, also for requests that are rejected before they reach the codec.
func Refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	body := errorBody{Err: cmp.Or(wire.Line(p.Message), "it failed")}
	if strings.HasPrefix(r.URL.Path, "/IpamDriver.") {
		body.Error = body.Err
	}
	p.Header(w)
	wire.WriteAs(w, p.Status, mediaType, body)
}

// fail logs and counts an error, and writes it.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, q *request, err error) {
	p, ours := problemOf(err)
	log := h.Log.WithValues("method", wire.Line(strings.TrimPrefix(r.URL.Path, "/")), "status",
		p.Status).WithValues(q.about()...)
	switch {
	case ours:
		log.Error(cmp.Or(p.Cause, err), "A request failed", "fault", "server")
	case p.Status == http.StatusNotFound: // Docker probes for newer methods this way
		log.V(1).Info("A request was refused", "fault", "caller", "why", wire.Line(p.Message))
	default:
		log.Info("A request was refused", "fault", "caller", "why", wire.Line(p.Message))
	}
	h.Failed(Endpoint(r.URL.Path), ours)
	Refuse(w, r, &p)
}

// problemOf returns the answer to a request that failed, and whether the server or the machine is at fault. A readable
// request gets status 200, as the API requires, independent of the fault.
func problemOf(err error) (p wire.Problem, ours bool) {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return *p, p.Status >= http.StatusInternalServerError
	}
	if isUserError(err) {
		return wire.Problem{Status: http.StatusOK, Message: err.Error()}, false
	}
	p = *wire.ProblemOf(err)
	ours = p.Status == http.StatusInternalServerError ||
		p.Status == http.StatusGatewayTimeout && errors.Is(err, context.DeadlineExceeded)
	p.Status, p.RetryAfter = http.StatusOK, 0
	return p, ours
}

// forPeople lists the errors with texts for users, in addition to those of package api.
var forPeople = []error{
	driver.ErrUnknownNetwork, driver.ErrUnknownEndpoint, link.ErrImpossible, link.ErrNoSegment, policy.ErrDenied,
	ipam.ErrUnknown,
}

// isUserError reports whether an error's text is for users. They can act on errors of the kernel, but not on those of
// files.
func isUserError(err error) bool {
	if slices.ContainsFunc(forPeople, func(one error) bool { return errors.Is(err, one) }) {
		return true
	}
	_, ofKernel := errors.AsType[syscall.Errno](err)
	_, ofFile := errors.AsType[*fs.PathError](err)
	return ofKernel && !ofFile
}
