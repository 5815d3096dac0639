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

// callResult is the result of a call.
type callResult struct {
	answer   any
	err      error
	panicked *wire.Panic
}

// withTimeout executes a call with a time limit. It continues if the client disconnects, to avoid partial results.
func (h *handler) withTimeout(caller context.Context, do func(context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), h.Patience)
	ended := make(chan callResult, 1)
	go func() {
		defer cancel()
		var o callResult
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

// errorBody is the body of an error. Docker's client reads Err if the status is not 200 (pkg/plugins). The IPAM
// driver reads Error if it is 200.
type errorBody struct {
	Err   string `json:"Err"`
	Error string `json:"Error,omitempty"`
}

// failureOf returns the error body for a path.
func failureOf(path, message string) errorBody {
	f := errorBody{Err: cmp.Or(wire.Line(message), "it failed")}
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
