// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
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

// with returns a method that decodes the body.
func with[Q any](do func(*handler, context.Context, *Q) (any, error)) method {
	return func(h *handler, w http.ResponseWriter, r *http.Request) (work, []any, error) {
		var asked Q
		if err := wire.Read(w, r, h.MaximumBytes, &asked); err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) (any, error) { return do(h, ctx, &asked) }, aboutOf(&asked), nil
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
			"the request came without its body, as Docker repeats one whose connection was lost; nothing was done by this attempt: try again")
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
