// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Options are the settings of a handler.
type Options struct {
	// Store is that of the ledger that the server has.
	Store ledger.Store
	// Release is service.Service.Release.
	Release func(context.Context, network.Owner) error
	// GC calls each for allocations without existing holders, and releases them unless it is a dry run; it is nil if
	// the server cannot query holders.
	GC func(ctx context.Context, dryRun bool, each func(Suspect) error) error
	// Now is the time.
	Now func() time.Time
	// Report is called with internal errors; it may be nil.
	Report func(error)
	// Requests are how many are served at a time. Default 4.
	Requests int
	// Stall is how long a caller may take no byte of an answer, and Budget bounds all of it. Defaults 30 seconds and one hour.
	Stall, Budget time.Duration
}

// Suspect is an allocation with a holder that probably no longer exists.
type Suspect struct {
	Allocation network.Allocation `json:"allocation"`
	// Reason says why, and Freed whether it was released.
	Reason string `json:"reason"`
	Freed  bool   `json:"freed"`
}

// maximumBody bounds the body of a request in bytes.
const maximumBody = 64 << 10

type handler struct {
	Options
	slots chan struct{}
}

// New returns the handler of a server.
func New(o Options) http.Handler {
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Requests == 0 {
		o.Requests = 4
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.Budget == 0 {
		o.Budget = time.Hour
	}
	h := &handler{Options: o, slots: make(chan struct{}, o.Requests)}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/allocations", h.guard(h.allocations))
	mux.Handle("GET /v1/export", h.guard(h.export))
	mux.Handle("POST /v1/verify", h.guard(h.verify))
	mux.Handle("POST /v1/release", h.guard(h.release))
	mux.Handle("POST /v1/gc", h.guard(h.gc))
	mux.Handle("POST /v1/import", h.guard(func(context.Context, *answer, *http.Request) error {
		return &Problem{http.StatusConflict, "nothing can be imported while a server has the ledger: stop the server first"}
	}))
	mux.Handle("/", h.guard(func(context.Context, *answer, *http.Request) error {
		return &Problem{http.StatusNotFound, "the server knows no such request: is it of another version?"}
	}))
	return mux
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

// guard limits the resources of a request, and writes the response to an error.
func (h *handler) guard(serve func(context.Context, *answer, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{w: w, control: http.NewResponseController(w), stall: h.Stall, now: h.Now}
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		default:
			a.fail(&Problem{http.StatusTooManyRequests, "the server is busy with other requests of this kind; try again later"})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), h.Budget)
		defer cancel()
		a.extend(h.Stall)
		r.Body = http.MaxBytesReader(w, r.Body, maximumBody)
		if err := h.survive(ctx, serve, a, r); err != nil {
			a.fail(err)
		}
	})
}

// survive makes a panic an error.
func (h *handler) survive(ctx context.Context, serve func(context.Context, *answer, *http.Request) error, a *answer, r *http.Request) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			h.Report(fmt.Errorf("panic at %s: %v\n%s", r.URL.Path, reason, debug.Stack()))
			err = &Problem{http.StatusInternalServerError, "this is a mistake in the server itself, please report it; its log says where"}
		}
	}()
	return serve(ctx, a, r)
}

// answer is the response to a caller: lines, or one value.
type answer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	now     func() time.Time
	began   bool
	flushed time.Time
}

// The trailers of an answer in lines.
const (
	trailerError  = "Graft-Error"
	trailerEven   = "Graft-Even"
	trailerBroken = "Graft-Broken"
)

// begin announces lines.
func (a *answer) begin() {
	a.w.Header().Set("Content-Type", "application/x-ndjson")
	for _, name := range []string{trailerError, trailerEven, trailerBroken} {
		a.w.Header().Add("Trailer", name)
	}
	a.began, a.flushed = true, a.now()
}

// Write implements io.Writer. It flushes written data at the next write after a second, and aborts the response to a
// client that does not read.
func (a *answer) Write(content []byte) (int, error) {
	a.extend(a.stall)
	count, err := a.w.Write(content)
	if now := a.now(); err == nil && now.Sub(a.flushed) > time.Second {
		a.flushed = now
		err = a.control.Flush()
	}
	return count, err
}

// extend lets the caller have so much time for the next bytes. Where the writer has no deadlines, the listener's hold.
func (a *answer) extend(by time.Duration) { _ = a.control.SetWriteDeadline(time.Now().Add(by)) }

func (a *answer) line(value any) error {
	if !a.began {
		a.begin()
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = a.Write(append(raw, '\n'))
	return err
}

// fail writes an error: as the response, or in the trailer after a part of it.
func (a *answer) fail(err error) {
	if a.began {
		a.w.Header().Set(trailerError, oneLine(err.Error()))
		return
	}
	status := http.StatusInternalServerError
	var p *Problem
	var tooMuch *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		status = p.Status
	case errors.As(err, &tooMuch):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, network.ErrNotHeld):
		status, err = http.StatusNotFound, network.ErrNotHeld
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	_ = json.NewEncoder(a.w).Encode(failure{err.Error()}) // the caller may be gone
}

// failure is the response to an error.
type failure struct {
	Error string `json:"error"`
}

func (a *answer) value(value any) error {
	a.w.Header().Set("Content-Type", "application/json")
	a.began = true
	return json.NewEncoder(a.w).Encode(value)
}

// decode reads the body of a request.
func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return &Problem{http.StatusBadRequest, "the request cannot be read: " + err.Error()}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return &Problem{http.StatusBadRequest, "the request cannot be read: something follows the value"}
	}
	return nil
}
