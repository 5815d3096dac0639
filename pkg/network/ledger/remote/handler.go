// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package remote gives access to a ledger while a server uses it: an HTTP handler for the server's admin socket, and
// its client, which reads the ledger like a store. The socket is next to the ledger, and users who may open the ledger
// may use it; there is no other access control.
//
//	GET  /v2/rows      ?prefix= or ?key=          rows as {"key":…,"value":…}, the value in base64
//	POST /v2/release   ?owner=<contract>/<key>    the allocation
//	POST /v2/gc        ?dryRun=true               allocations without holders
//
// An answer consists of lines of JSON. If it is incomplete, the trailer Error has the reason. The package uses no concrete
// store and starts no listener. Start reading at New and Dial.
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

// row is a row of the store.
type row struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
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
	// stall is the maximum time in which a caller reads no byte of an answer. budget limits the whole answer.
	stall, budget = 30 * time.Second, time.Hour
	// trailer is the trailer with the error of an answer that has begun.
	trailer = "Error"
)

type handler struct{ Options }

// New returns the handler of a server.
func New(o Options) http.Handler {
	h, mux := &handler{o}, http.NewServeMux()
	slots := semaphore.NewWeighted(cmp.Or(o.Requests, 4))
	for pattern, serve := range map[string]func(*http.Request, func(any) error) error{
		"GET /v2/rows": h.rows, "POST /v2/release": h.release, "POST /v2/gc": h.gc,
		"/": func(*http.Request, func(any) error) error {
			return &Problem{http.StatusNotFound, "the server does not know this request: use the version of the server"}
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !slots.TryAcquire(1) {
				http.Error(w, "the server is busy with other requests of this kind; try again later", http.StatusTooManyRequests)
				return
			}
			defer slots.Release(1)
			ctx, cancel := context.WithTimeout(r.Context(), budget)
			defer cancel()
			began := false
			err := serve(r.WithContext(ctx), func(value any) error {
				if !began {
					w.Header().Set("Trailer", trailer) // otherwise a short answer would have a length and no trailer
					began = true
				}
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stall)) // without deadlines, the listener's hold
				return json.NewEncoder(w).Encode(value)
			})
			switch {
			case err != nil && began:
				w.Header().Set(trailer, err.Error())
			case err != nil:
				http.Error(w, err.Error(), status(err))
			}
		})
	}
	return mux
}

// status returns the HTTP status of an error.
func status(err error) int {
	problem, ok := errors.AsType[*Problem](err)
	switch {
	case ok:
		return problem.Status
	case errors.Is(err, network.ErrNotHeld):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
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
	owner, err := network.ParseOwner(r.URL.Query().Get("owner"))
	if err != nil {
		return &Problem{http.StatusBadRequest, err.Error()}
	}
	held, err := ledger.Find(r.Context(), h.Store, owner)
	if err == nil {
		err = h.Release(r.Context(), owner)
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
