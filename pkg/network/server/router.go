// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// router passes requests to the contracts of a listener. It checks the callers; the server's guard limits the load.
type router struct {
	contracts []Contract
	// browsers is true if web pages can reach the listener: browsers let any page post to any TCP address, also on
	// loopback.
	browsers bool
	guard    *serving.Guard
	metrics  *Metrics
	log      logr.Logger
}

// unknown is the label of unknown endpoints in metrics.
const unknown = "other"

// none responds to paths outside of all contracts if there are several.
var none = Contract{Name: "none", Always: true, Timeout: serving.BodyTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	api.Problemf(http.StatusNotFound, "no contract of this listener has this path").Write(w)
})}

// find returns the contract of a path and the name of the endpoint. A single contract handles all paths itself.
func (e *router) find(path string) (Contract, string) {
	for _, c := range e.contracts {
		if endpoint := c.Endpoint(path); endpoint != "" {
			return c, endpoint
		}
	}
	if len(e.contracts) == 1 {
		return e.contracts[0], unknown
	}
	return none, unknown
}

// ServeHTTP implements http.Handler.
func (e *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	contract, endpoint := e.find(r.URL.Path)
	answer := &statusRecorder{ResponseWriter: w}
	e.metrics.inFlight.Inc()
	defer func() {
		code, took := cmp.Or(answer.status, http.StatusOK), time.Since(began)
		e.metrics.inFlight.Dec()
		e.metrics.requests.WithLabelValues(contract.Name, endpoint, strconv.Itoa(code)).Inc()
		e.metrics.duration.WithLabelValues(contract.Name, endpoint).Observe(took.Seconds())
		e.log.V(1).Info("Answered", "contract", contract.Name, "endpoint", endpoint, "code", code, "duration", took)
	}()
	defer e.recoverPanic(answer, r, contract, endpoint)
	switch {
	case e.browsers && fromPage(r):
		e.refuse(answer, r, contract, refusedPage, api.Problemf(http.StatusForbidden, "requests from web pages are refused"))
	case contract.Always || isCheap(r):
		e.guard.Free(answer, r, func(w http.ResponseWriter, r *http.Request) { serve(r.Context(), w, r, contract) })
	default:
		if err := e.guard.Serve(answer, r, cmp.Or(contract.MaximumBytes, api.DefaultMaximumBytes),
			func(ctx context.Context, w http.ResponseWriter, r *http.Request) { serve(ctx, w, r, contract) }); err != nil {
			busy := api.Problemf(http.StatusTooManyRequests, "%s", err)
			busy.RetryAfter = time.Second
			e.refuse(answer, r, contract, refusedBusy, busy)
		}
	}
}

// refuse counts a refusal, and answers it in the contract's own form.
func (e *router) refuse(w http.ResponseWriter, r *http.Request, c Contract, reason string, p *api.Problem) {
	e.metrics.refused.WithLabelValues(reason).Inc()
	serving.CloseAfter(w, r)
	c.refuse(w, r, p)
}

// refuse writes a problem in the form of the contract.
func (c Contract) refuse(w http.ResponseWriter, r *http.Request, p *api.Problem) {
	if c.Refuse == nil {
		p.Write(w)
		return
	}
	c.Refuse(w, r, p)
}

// crossing detects requests from web pages of other sites.
var crossing = http.NewCrossOriginProtection()

// fromPage reports whether a browser page sends the request. The server has no pages of its own: one with the same
// origin has had its name resolved to this address (DNS rebinding).
func fromPage(r *http.Request) bool { return r.Header.Get("Origin") != "" || crossing.Check(r) != nil }

// isCheap reports whether a request is cheap, so that it is served even under load.
func isCheap(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serve calls the contract's handler within its limits.
func serve(ctx context.Context, w http.ResponseWriter, r *http.Request, c Contract) {
	control := http.NewResponseController(w)
	if c.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		ctx = limited
		_ = control.SetWriteDeadline(time.Now().Add(c.Timeout + serving.WriteTimeout)) // fails only for writers without a connection
	} else {
		_ = control.SetReadDeadline(time.Time{})
	}
	r = r.WithContext(ctx)
	if c.MaximumBytes > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, c.MaximumBytes)
	}
	c.Handler.ServeHTTP(w, r)
}

// recoverPanic answers a request whose handler panicked. It must be deferred.
func (e *router) recoverPanic(w *statusRecorder, r *http.Request, contract Contract, endpoint string) {
	panicked := recover()
	if panicked == nil {
		return
	}
	stack := debug.Stack()
	if elsewhere, ok := panicked.(*api.Panic); ok {
		panicked, stack = elsewhere.Value, elsewhere.Stack
	}
	if serving.Aborted(panicked) {
		panic(panicked)
	}
	e.metrics.panics.Inc()
	e.log.Error(serving.Panicked(panicked), "A request panicked: this is a bug", "contract", contract.Name, "endpoint", endpoint, "stack", string(stack))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // abort the started answer, so that it does not look complete
	}
	contract.refuse(w, r, api.Problemf(http.StatusInternalServerError, "the server failed; its log has the reason"))
}

// statusRecorder records the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *statusRecorder) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *statusRecorder) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap implements the interface for http.ResponseController.
func (a *statusRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }
