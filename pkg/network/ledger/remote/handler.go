// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Options are the settings of a handler.
type Options struct {
	// Store is the store of the server's ledger.
	Store ledger.Store
	// Release is service.Service.Release.
	Release func(context.Context, network.Owner) error
	// GC calls each for allocations without existing holders, and releases them unless it is a dry run; it is nil if
	// the server cannot query holders.
	GC func(ctx context.Context, dryRun bool, each func(Suspect) error) error
	// Requests are how many are served at a time. Default 4.
	Requests int
	// Stall is how long a caller may take no byte of an answer, and Budget bounds all of it. Defaults 30 seconds and one hour.
	Stall, Budget time.Duration
}

// maximumBody limits the body of a request, in bytes. Requests contain filters or owners.
const maximumBody = 64 << 10

type handler struct {
	Options
	slots chan struct{}
}

// New returns the handler of a server.
func New(o Options) http.Handler {
	o.Stall, o.Budget = cmp.Or(o.Stall, 30*time.Second), cmp.Or(o.Budget, time.Hour)
	h := &handler{Options: o, slots: make(chan struct{}, cmp.Or(o.Requests, 4))}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/rows", h.guard(h.rows))
	mux.Handle("POST /v1/release", h.guard(h.release))
	mux.Handle("POST /v1/gc", h.guard(h.gc))
	mux.Handle("/", h.guard(func(context.Context, *answer, *http.Request) error {
		return &Problem{http.StatusNotFound, "the server knows no such request: is it of another version?"}
	}))
	return mux
}

// guard limits the resources of a request, and writes the end of the answer.
func (h *handler) guard(serve func(context.Context, *answer, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{w: w, control: http.NewResponseController(w), stall: h.Stall}
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		default:
			a.end(&Problem{http.StatusTooManyRequests, "the server is busy with other requests of this kind; try again later"})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), h.Budget)
		defer cancel()
		a.extend(h.Stall)
		r.Body = http.MaxBytesReader(w, r.Body, maximumBody)
		a.end(serve(ctx, a, r))
	})
}

func (h *handler) rows(ctx context.Context, a *answer, r *http.Request) error {
	query := r.URL.Query()
	if !query.Has("key") {
		return h.Store.Scan(ctx, query.Get("prefix"), func(key, value []byte) error { return a.send(row{string(key), value}) })
	}
	value, err := h.Store.Get(ctx, query.Get("key"))
	if err != nil || value == nil {
		return err
	}
	return a.send(row{query.Get("key"), value})
}

func (h *handler) release(ctx context.Context, a *answer, r *http.Request) error {
	var wanted released
	if err := decode(r, &wanted); err != nil {
		return err
	}
	held, err := ledger.Find(ctx, h.Store, wanted.Owner)
	if err != nil {
		return err
	}
	a.extend(h.Budget + h.Stall)
	if err := h.Release(ctx, wanted.Owner); err != nil {
		return err
	}
	return a.send(held)
}

func (h *handler) gc(ctx context.Context, a *answer, r *http.Request) error {
	if h.GC == nil {
		return ErrNoCluster
	}
	a.extend(h.Budget + h.Stall)
	return h.GC(ctx, r.URL.Query().Get("dryRun") == "true", func(s Suspect) error { return a.send(s) })
}

// decode reads the body of a request.
func decode(r *http.Request, into any) error {
	if err := ledger.DecodeStrictly(r.Body, into); err != nil {
		return &Problem{http.StatusBadRequest, "the request cannot be read: " + err.Error()}
	}
	return nil
}

// answer writes the lines of an answer.
type answer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	began   bool
}

// extend lets the caller have so much time for the next bytes. Where the writer has no deadlines, the listener's hold.
func (a *answer) extend(by time.Duration) { _ = a.control.SetWriteDeadline(time.Now().Add(by)) }

// send writes a value.
func (a *answer) send(value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return a.line(http.StatusOK, message{Value: raw})
}

func (a *answer) line(status int, m message) error {
	a.extend(a.stall)
	if !a.began {
		a.w.Header().Set("Content-Type", "application/x-ndjson")
		a.w.WriteHeader(status)
		a.began = true
	}
	return json.NewEncoder(a.w).Encode(m)
}

// end writes the last line. The caller may have gone.
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
