// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package remote gives access to a ledger while a server uses it: an HTTP handler for the server's admin socket, and
// its client, which reads the ledger like a store. The socket is next to the ledger, and users who may open the ledger
// may use it; there is no other access control.
//
//	GET  /v1/rows      ?prefix= or ?key=                          rows as {"value":{"key":…,"value":…}}, the value in base64
//	POST /v1/release   {"owner":{"contract":…,"key":…}}           the allocation as {"value":{…}}
//	POST /v1/gc        ?dryRun=true                               allocations without holders as {"value":{…}}
//
// An answer consists of lines of JSON. The last one is {"end":true} or {"error":"…"}; without it, the answer is
// incomplete. The package uses no concrete store and starts no listener. Start reading at New and Dial.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// message is one line of an answer.
type message struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
	End   bool            `json:"end,omitempty"`
}

// row is a row of the store.
type row struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// released is the request to release an owner's allocation.
type released struct {
	Owner network.Owner `json:"owner"`
}

// Problem is an error with its HTTP status.
type Problem struct {
	Status  int
	Message string
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Is reports that a status of 404 for an owner is network.ErrNotHeld.
func (p *Problem) Is(target error) bool {
	return target == network.ErrNotHeld && p.Status == http.StatusNotFound && p.Message == network.ErrNotHeld.Error()
}

// ErrNoCluster means that holders cannot be queried, so that no allocation can be released.
var ErrNoCluster = &Problem{http.StatusNotImplemented, "the server has no Kubernetes client to check which owners exist: set kubernetes.kubeconfig"}

// Options are the settings of a handler.
type Options struct {
	// Store is the store of the server's ledger.
	Store ledger.Store
	// Release is service.Service.Release.
	Release func(context.Context, network.Owner) error
	// GC calls each for allocations without existing holders, and releases them unless it is a dry run; it is nil if
	// the server cannot query holders.
	GC func(ctx context.Context, dryRun bool, each func(gc.Suspect) error) error
	// Requests are how many are served at a time. Default 4.
	Requests int64
}

const (
	// maximumBody limits the body of a request, in bytes. Requests contain filters or owners.
	maximumBody = 64 << 10
	// stall is the maximum time in which a caller reads no byte of an answer. budget limits the whole answer.
	stall, budget = 30 * time.Second, time.Hour
)

type handler struct{ Options }

// New returns the handler of a server.
func New(o Options) http.Handler {
	h, mux := &handler{o}, http.NewServeMux()
	slots := semaphore.NewWeighted(cmp.Or(o.Requests, 4))
	for pattern, serve := range map[string]func(*http.Request, func(any) error) error{
		"GET /v1/rows": h.rows, "POST /v1/release": h.release, "POST /v1/gc": h.gc,
		"/": func(*http.Request, func(any) error) error {
			return &Problem{http.StatusNotFound, "the server does not know this request: use the version of the server"}
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			a := &answer{w: w}
			if !slots.TryAcquire(1) {
				a.end(&Problem{http.StatusTooManyRequests, "the server is busy with other requests of this kind; try again later"})
				return
			}
			defer slots.Release(1)
			ctx, cancel := context.WithTimeout(r.Context(), budget)
			defer cancel()
			r.Body = http.MaxBytesReader(w, r.Body, maximumBody)
			a.end(serve(r.WithContext(ctx), a.send))
		})
	}
	return mux
}

func (h *handler) rows(r *http.Request, send func(any) error) error {
	query := r.URL.Query()
	if !query.Has("key") {
		return h.Store.Scan(r.Context(), query.Get("prefix"), func(key, value []byte) error {
			return send(row{string(key), value})
		})
	}
	value, err := h.Store.Get(r.Context(), query.Get("key"))
	if err != nil || value == nil {
		return err
	}
	return send(row{query.Get("key"), value})
}

func (h *handler) release(r *http.Request, send func(any) error) error {
	var wanted released
	if err := ledger.DecodeStrictly(r.Body, &wanted); err != nil {
		return &Problem{http.StatusBadRequest, "the request cannot be read: " + err.Error()}
	}
	held, err := ledger.Find(r.Context(), h.Store, wanted.Owner)
	if err == nil {
		err = h.Release(r.Context(), wanted.Owner)
	}
	if err != nil {
		return err
	}
	return send(held)
}

func (h *handler) gc(r *http.Request, send func(any) error) error {
	if h.GC == nil {
		return ErrNoCluster
	}
	return h.GC(r.Context(), r.URL.Query().Get("dryRun") == "true", func(s gc.Suspect) error { return send(s) })
}

// answer writes the lines of an answer.
type answer struct {
	w     http.ResponseWriter
	began bool
}

// send writes a value.
func (a *answer) send(value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return a.line(http.StatusOK, message{Value: raw})
}

func (a *answer) line(status int, m message) error {
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(stall)) // without deadlines, the listener's hold
	if !a.began {
		a.w.Header().Set("Content-Type", "application/x-ndjson")
		a.w.WriteHeader(status)
		a.began = true
	}
	return json.NewEncoder(a.w).Encode(m)
}

// end writes the last line. The caller may have disconnected.
func (a *answer) end(err error) {
	if err == nil {
		_ = a.line(http.StatusOK, message{End: true})
		return
	}
	status := http.StatusInternalServerError
	var p *Problem
	switch {
	case errors.As(err, &p):
		status = p.Status
	case errors.Is(err, network.ErrNotHeld):
		status, err = http.StatusNotFound, network.ErrNotHeld
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	_ = a.line(status, message{Error: err.Error()})
}
