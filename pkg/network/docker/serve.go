// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

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
	"syscall"

	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// mediaType is the Content-Type of all responses. Clients send it in Accept, but ignore it in responses.
const mediaType = "application/vnd.docker.plugins.v1.2+json"

// method decodes a request. It fails for an unreadable one.
type method func(h *handler, w http.ResponseWriter, r *http.Request) (call, error)

// call is a decoded request.
type call struct {
	// do executes the request and returns the response. Nil is an empty response.
	do func(ctx context.Context) (any, error)
	// about identifies the objects of the request in the log.
	about []any
}

// withoutBody returns a method that ignores the body.
func withoutBody(do func(*handler, context.Context) (any, error)) method {
	return func(h *handler, _ http.ResponseWriter, _ *http.Request) (call, error) {
		return call{do: func(ctx context.Context) (any, error) { return do(h, ctx) }}, nil
	}
}

// withBody returns a method that decodes the body and checks its identifiers. check may be nil.
func withBody[Q any, P interface {
	*Q
	about() []any
}](do func(*handler, context.Context, P) (any, error), check func(P) error) method {
	return func(h *handler, w http.ResponseWriter, r *http.Request) (call, error) {
		asked := P(new(Q))
		if err := wire.Read(w, r, h.MaximumBytes, asked); err != nil {
			return call{}, err
		}
		c := call{func(ctx context.Context) (any, error) { return do(h, ctx, asked) }, asked.about()}
		if check != nil {
			return c, check(asked)
		}
		return c, nil
	}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := Endpoint(r.URL.Path)
	called, known := methods[name]
	switch {
	case !known:
		h.fail(w, r, nil, wire.Problemf(http.StatusNotFound, "the method does not exist"))
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.fail(w, r, nil, wire.Problemf(http.StatusMethodNotAllowed, "%s needs the method POST", name))
		return
	}
	c, err := called(h, w, r)
	if err != nil {
		h.fail(w, r, c.about, unreadable(err))
		return
	}
	answer, err := h.withTimeout(r.Context(), c.do)
	if err != nil {
		h.fail(w, r, c.about, err)
		return
	}
	if one, ok := events[name]; ok {
		h.Log.V(one.verbosity).Info(one.words, c.about...)
	}
	wire.WriteAs(w, http.StatusOK, mediaType, answer)
}

// unreadable returns the error for an unreadable body. Docker's client sends an empty body when it retries a
// call after a lost connection (moby/moby#39331); any response ends these retries.
func unreadable(err error) error {
	if errors.Is(err, wire.ErrNoBody) {
		return wire.Problemf(http.StatusBadRequest,
			"the request has no body, because Docker repeated it after a lost connection; nothing was changed by this "+
				"attempt: try again")
	}
	return err
}

// outcome is the result of a call.
type outcome struct {
	answer   any
	err      error
	panicked *wire.Panic
}

// withTimeout executes a call with a time limit. It continues if the client disconnects, to avoid partial results.
func (h *handler) withTimeout(caller context.Context, do func(context.Context) (any, error)) (any, error) {
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
	<-ctx.Done()
	select {
	case o := <-ended:
		if o.panicked != nil {
			panic(o.panicked) // on the goroutine of the request
		}
		if o.answer == nil {
			return fields{}, o.err
		}
		return o.answer, o.err
	default:
		return nil, ctx.Err()
	}
}

// events maps methods to log lines with their verbosity. Networks change rarely, endpoints with each container.
var events = map[string]struct {
	verbosity int
	words     string
}{
	"NetworkDriver.CreateNetwork":  {0, "Created a network"},
	"NetworkDriver.DeleteNetwork":  {0, "Removed a network"},
	"NetworkDriver.CreateEndpoint": {1, "Created an endpoint"},
	"NetworkDriver.DeleteEndpoint": {1, "Removed an endpoint"},
}

// logFailure logs an error for the machine's operator. Docker shows the text to its user only.
func (h *handler) logFailure(r *http.Request, about []any, p problem, err error) {
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

// unsupported is an error for an operation that is not supported. Its text is for users.
type unsupported string

// Error implements error.
func (c unsupported) Error() string { return string(c) }

// fail logs an error and writes it. A readable request gets status 200, as the API requires, independent of the
// fault.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, about []any, err error) {
	p := problemOf(err)
	h.logFailure(r, about, p, err)
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
	if _, ok := errors.AsType[unsupported](err); ok || isUserError(err) {
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
