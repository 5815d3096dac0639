// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// guard stands before the contracts of a listener.
type guard struct {
	contracts []Contract
	// tokens are nil where callers need none.
	tokens *reloaded[tokens]
	// browsers says that pages can reach the listener: a browser lets any of them post to any TCP address, such as those of loopback.
	browsers bool
	load     *load
	// patience is how long a body may take to come.
	patience time.Duration
	metrics  *Metrics
	log      logr.Logger
}

// unknown is the name of endpoints that there are not.
const unknown = "other"

// none answers what is of no contract, where there are several.
var none = Contract{Name: "none", Always: true, Timeout: bodyTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	wire.Problemf(http.StatusNotFound, "no contract that is answered here has this path").Write(w)
})}

// find is the contract that answers a path, and the name of the endpoint. A contract that is alone knows best what there is in place of it.
func (g *guard) find(path string) (Contract, string) {
	for _, c := range g.contracts {
		if endpoint := c.Endpoint(path); endpoint != "" {
			return c, endpoint
		}
	}
	if len(g.contracts) == 1 {
		return g.contracts[0], unknown
	}
	return none, unknown
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	contract, endpoint := g.find(r.URL.Path)
	answer := &answer{ResponseWriter: w}
	g.hurry(answer, r)
	g.metrics.began()
	defer func() {
		g.metrics.ended(contract.Name, endpoint, answer.code(), time.Since(began))
		g.log.V(1).Info("Answered", "contract", contract.Name, "endpoint", endpoint, "code", answer.code(), "duration", time.Since(began))
	}()
	defer g.survive(answer, r, contract, endpoint)
	switch {
	case g.browsers && fromPage(r):
		g.metrics.refused(refusedPage)
		contract.refuse(answer, r, wire.Problemf(http.StatusForbidden, "nothing is answered to web pages"))
	case !g.permitted(r):
		g.metrics.refused(refusedToken)
		w.Header().Set("WWW-Authenticate", "Bearer")
		contract.refuse(answer, r, wire.Problemf(http.StatusUnauthorized, "a bearer token is needed that the server knows"))
	case !contract.Always && !free(r) && !g.load.enter():
		g.metrics.refused(refusedBusy)
		busy := wire.Problemf(http.StatusTooManyRequests, "the server works on %d requests already; try again", g.load.most)
		busy.RetryAfter = time.Second
		contract.refuse(answer, r, busy)
	default:
		if !contract.Always && !free(r) {
			ctx, depart := g.load.hold(r.Context())
			defer depart()
			r = r.WithContext(ctx)
		}
		g.serve(answer, r, contract)
	}
	if answer.status == 0 {
		answer.begin(http.StatusOK)
	}
}

// refuse answers a problem in the contract's own form.
func (c Contract) refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	if c.Refuse == nil {
		p.Write(w)
		return
	}
	c.Refuse(w, r, p)
}

// crossing knows what pages of other sites ask for.
var crossing = http.NewCrossOriginProtection()

// fromPage says whether a page in a browser asks. No page comes from here: one that says that it does has had its own name resolved to this address.
func fromPage(r *http.Request) bool { return r.Header.Get("Origin") != "" || crossing.Check(r) != nil }

// permitted says whether the caller may ask; who may connect at all is known before.
func (g *guard) permitted(r *http.Request) bool {
	return g.tokens == nil || g.tokens.get().permit(r.Header.Get("Authorization"))
}

// free says whether a request costs nothing to speak of: those that ask how the server is must be answered when there is much to do too.
func free(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serve lets the contract answer, within its bounds.
func (g *guard) serve(w http.ResponseWriter, r *http.Request, c Contract) {
	control := http.NewResponseController(w)
	if c.Timeout > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), c.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		_ = control.SetWriteDeadline(time.Now().Add(c.Timeout + writeTimeout)) // who cannot has no connection to be held up by
	} else {
		_ = control.SetReadDeadline(time.Time{})
	}
	if c.MaximumBytes > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, c.MaximumBytes)
	}
	c.Handler.ServeHTTP(w, r)
}

// hurry bounds the time in which the body comes, whoever sends it and whatever is answered: net/http reads what is left of one before it closes a
// connection, and without a deadline it would do so as long as the caller likes.
func (g *guard) hurry(w *answer, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	w.body = serving.Hurry(w.ResponseWriter, r, time.Now().Add(g.patience))
}

// survive makes an answer of a panic; it is deferred.
func (g *guard) survive(w *answer, r *http.Request, contract Contract, endpoint string) {
	panicked := recover()
	if panicked == nil {
		return
	}
	stack := debug.Stack()
	if elsewhere, ok := panicked.(*wire.Panic); ok {
		panicked, stack = elsewhere.Value, elsewhere.Stack
	}
	if serving.Aborted(panicked) {
		panic(panicked)
	}
	g.metrics.panics.Inc()
	g.log.Error(serving.Panicked(panicked), "A request panicked: this is a bug", "contract", contract.Name, "endpoint", endpoint, "stack", string(stack))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // an answer has begun, and must not look whole
	}
	contract.refuse(w, r, wire.Problemf(http.StatusInternalServerError, "the server failed; its log says why"))
}

// answer remembers the status.
type answer struct {
	http.ResponseWriter
	status int
	// body is that of the request; nil: it has none.
	body *serving.Body
}

// begin notes the status. An answer to a body that has not come whole ends the connection: net/http sends it at once then, and does not wait for the rest.
func (a *answer) begin(status int) {
	a.status = status
	if a.body != nil && !a.body.Whole() {
		a.Header().Set("Connection", "close")
	}
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.begin(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.begin(http.StatusOK)
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// code is the status that the caller gets.
func (a *answer) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}
