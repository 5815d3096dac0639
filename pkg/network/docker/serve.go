// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// mediaType is the Content-Type of all responses. Clients send it in Accept, but ignore it in responses.
const mediaType = "application/vnd.docker.plugins.v1.2+json"

// method decodes a request and returns its work, and values for the log. It fails for an unreadable request.
type method func(h *handler, w http.ResponseWriter, r *http.Request) (do work, about []any, err error)

// work executes a request and returns the response. Nil is an empty response.
type work func(ctx context.Context) (any, error)

// without returns a method that ignores the body.
func without(do func(*handler, context.Context) (any, error)) method {
	return func(h *handler, _ http.ResponseWriter, _ *http.Request) (work, []any, error) {
		return func(ctx context.Context) (any, error) { return do(h, ctx) }, nil, nil
	}
}

// with returns a method that decodes the body and checks its identifiers.
func with[Q any](do func(*handler, context.Context, *Q) (any, error)) method {
	return func(h *handler, w http.ResponseWriter, r *http.Request) (work, []any, error) {
		var asked Q
		if err := wire.Read(w, r, h.MaximumBytes, &asked); err != nil {
			return nil, nil, err
		}
		about := aboutOf(&asked)
		if q, ok := any(&asked).(interface{ check() error }); ok {
			if err := q.check(); err != nil {
				return nil, about, err
			}
		}
		return func(ctx context.Context) (any, error) { return do(h, ctx, &asked) }, about, nil
	}
}

// empty is the response of a success without data.
type empty struct{}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := Endpoint(r.URL.Path)
	called, known := methods[name]
	switch {
	case !known:
		h.fail(w, r, nil, wire.Problemf(http.StatusNotFound, "there is no method of this name"))
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.fail(w, r, nil, wire.Problemf(http.StatusMethodNotAllowed, "%s is called by POST", name))
		return
	}
	do, about, err := called(h, w, r)
	if err != nil {
		h.fail(w, r, about, unreadable(err))
		return
	}
	answer, err := h.within(r.Context(), do)
	if err != nil {
		h.fail(w, r, about, err)
		return
	}
	h.done(name, about)
	wire.WriteAs(w, http.StatusOK, mediaType, answer)
}

// unreadable returns the error for an unreadable body. Docker's client sends an empty body when it retries a
// call after a lost connection (moby/moby#39331); any response ends these retries.
func unreadable(err error) error {
	if errors.Is(err, wire.ErrNoBody) {
		return wire.Problemf(http.StatusBadRequest,
			"the request came without its body, as Docker repeats one whose connection was lost; nothing was done by this "+
				"attempt: try again")
	}
	return err
}

// outcome is the result of work.
type outcome struct {
	answer   any
	err      error
	panicked *wire.Panic
}

// within executes work with a time limit. The work continues if the client disconnects, to avoid partial
// results.
func (h *handler) within(caller context.Context, do work) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), h.Patience)
	ended := make(chan outcome, 1)
	go func() {
		defer cancel()
		var o outcome
		defer func() {
			if value := recover(); value != nil {
				o.panicked = &wire.Panic{Value: value, Stack: debug.Stack()}
			}
			ended <- o
		}()
		o.answer, o.err = do(ctx)
	}()
	select {
	case o := <-ended:
		return o.get()
	case <-ctx.Done():
	}
	select {
	case o := <-ended: // the work and the limit ended at the same time
		return o.get()
	default:
		return nil, ctx.Err()
	}
}

// get returns the outcome, and re-panics on the caller's goroutine.
func (o outcome) get() (any, error) {
	if o.panicked != nil {
		panic(o.panicked)
	}
	if o.answer == nil {
		return empty{}, o.err
	}
	return o.answer, o.err
}

// events maps methods to log lines with their verbosity. Networks change rarely, endpoints with each container.
var events = map[string]struct {
	verbosity int
	words     string
}{
	"NetworkDriver.CreateNetwork":  {0, "A network was made"},
	"NetworkDriver.DeleteNetwork":  {0, "A network was removed"},
	"NetworkDriver.CreateEndpoint": {1, "An endpoint was made"},
	"NetworkDriver.DeleteEndpoint": {1, "An endpoint was removed"},
}

// done logs a success.
func (h *handler) done(method string, about []any) {
	if one, ok := events[method]; ok {
		h.Log.V(one.verbosity).Info(one.words, about...)
	}
}

// failed logs an error for the machine's operator. Docker shows the text to its user only.
func (h *handler) failed(r *http.Request, about []any, p problem, err error) {
	log := h.Log.WithValues("method", wire.Line(strings.TrimPrefix(r.URL.Path, "/")), "status",
		p.Status).WithValues(about...)
	if p.ours {
		log.Error(cmp.Or(p.Cause, err), "A request failed", "fault", "server")
		return
	}
	verbosity := 0
	if p.Status == http.StatusNotFound { // Docker probes for newer methods this way
		verbosity = 1
	}
	log.V(verbosity).Info("A request was refused", "fault", "caller", "why", wire.Line(p.Message))
}

// aboutOf returns keys and values for the log that identify the objects of a request.
func aboutOf(asked any) []any {
	var about []any
	add := func(key, id string) {
		if id != "" {
			about = append(about, key, short(id))
		}
	}
	switch q := asked.(type) {
	case *networkRequest:
		add("network", q.NetworkID)
	case *allocationRequest:
		add("network", q.NetworkID)
	case *endpointRequest:
		add("network", q.NetworkID)
		add("endpoint", q.EndpointID)
	case *poolRequest:
		add("pool", q.PoolID)
		add("subnet", textOf(q.Pool))
	case *addressRequest:
		add("pool", q.PoolID)
		add("address", textOf(q.Address))
	}
	return about
}

// textOf returns the text of a valid value.
func textOf(v interface {
	fmt.Stringer
	IsValid() bool
},
) string {
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

// short returns an identifier in Docker's short form. Other texts are truncated and put on one line.
func short(id string) string {
	const identifier, shown, most = 64, 12, 128
	if len(id) == identifier && !strings.ContainsAny(id, "/.: ") {
		id = id[:shown]
	}
	return wire.Line(id[:min(len(id), most)])
}

// failure is the body of an error. Docker's client reads Err if the status is not 200 (pkg/plugins). The IPAM
// driver reads Error if it is 200.
type failure struct {
	Err   string `json:"Err"`
	Error string `json:"Error,omitempty"`
}

// failureOf returns the error body for a path.
func failureOf(path, message string) failure {
	f := failure{Err: cmp.Or(wire.Line(message), "it failed")}
	if strings.HasPrefix(path, "/IpamDriver.") {
		f.Error = f.Err
	}
	return f
}

// Refuse writes an error in the form of the API, for requests that are rejected before they reach the codec.
func Refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	p.Header(w)
	wire.WriteAs(w, p.Status, mediaType, failureOf(r.URL.Path, p.Message))
}

// cannot is an error for an operation that is not supported. Its text is for users.
type cannot string

// Error implements error.
func (c cannot) Error() string { return string(c) }

// fail logs an error and writes it. A readable request gets status 200, as the API requires, independent of the
// fault.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, about []any, err error) {
	p := problemOf(err)
	h.failed(r, about, p, err)
	h.Failed(Endpoint(r.URL.Path), p.ours)
	Refuse(w, r, &p.Problem)
}

// problem is an error with its status.
type problem struct {
	wire.Problem
	// ours is true for a fault of the server or the machine.
	ours bool
}

func problemOf(err error) problem {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return problem{Problem: *p, ours: p.Status >= http.StatusInternalServerError}
	}
	if _, ok := errors.AsType[cannot](err); ok || known(err) {
		return problem{Problem: wire.Problem{Status: http.StatusOK, Message: err.Error()}}
	}
	p := problem{Problem: *wire.ProblemOf(err)}
	p.ours = p.Status == http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) && p.Status == http.StatusGatewayTimeout {
		p.ours = true
	}
	p.Status, p.RetryAfter = http.StatusOK, 0
	return p
}

// forPeople lists the errors with texts for users, in addition to those of package wire.
var forPeople = []error{
	driver.ErrUnknownNetwork, driver.ErrUnknownEndpoint, driver.ErrImpossible, policy.ErrDenied, link.ErrImpossible,
	link.ErrNoSegment,
	ipam.ErrUnknown, ipam.ErrRequest,
}

// known reports whether an error's text is for users. They can act on errors of the kernel, but not on those of
// files.
func known(err error) bool {
	if slices.ContainsFunc(forPeople, func(one error) bool { return errors.Is(err, one) }) {
		return true
	}
	_, ofKernel := errors.AsType[syscall.Errno](err)
	_, ofFile := errors.AsType[*fs.PathError](err)
	return ofKernel && !ofFile
}
