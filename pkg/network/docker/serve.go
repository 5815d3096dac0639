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

// mediaType is that of all answers. Clients send it as what they accept, and look at none.
const mediaType = "application/vnd.docker.plugins.v1.2+json"

// method reads a request, and gives the work that it asks for, and what it is about, for the log. The error says what cannot be read.
type method func(h *handler, w http.ResponseWriter, r *http.Request) (do work, about []any, err error)

// work does what was asked for, and gives the answer; nil: there is nothing to say.
type work func(ctx context.Context) (any, error)

// without is a method that has no body: whatever is sent as one is not looked at.
func without(do func(*handler, context.Context) (any, error)) method {
	return func(h *handler, _ http.ResponseWriter, _ *http.Request) (work, []any, error) {
		return func(ctx context.Context) (any, error) { return do(h, ctx) }, nil, nil
	}
}

// with is a method that has a body.
func with[Q any](do func(*handler, context.Context, *Q) (any, error)) method {
	return func(h *handler, w http.ResponseWriter, r *http.Request) (work, []any, error) {
		var asked Q
		if err := wire.Read(w, r, h.MaximumBytes, &asked); err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) (any, error) { return do(h, ctx, &asked) }, aboutOf(&asked), nil
	}
}

// empty answers what succeeds and has nothing to say.
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

// unreadable is the error of a body. One that is empty is what Docker's client sends when it repeats a call whose connection was lost
// (moby/moby#39331): an answer, whichever, ends that.
func unreadable(err error) error {
	if errors.Is(err, wire.ErrNoBody) {
		return wire.Problemf(http.StatusBadRequest,
			"the request came without its body, as Docker repeats one whose connection was lost; nothing was done by this attempt: try again")
	}
	return err
}

// outcome is how work has ended.
type outcome struct {
	answer   any
	err      error
	panicked *wire.Panic
}

// within does the work, and answers in time whatever it does. The work goes on when the caller leaves: half of it would be of no use to anybody.
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
	case o := <-ended: // both at once
		return o.get()
	default:
		return nil, ctx.Err()
	}
}

// get gives what the work has given, on the caller's goroutine.
func (o outcome) get() (any, error) {
	if o.panicked != nil {
		panic(o.panicked)
	}
	if o.answer == nil {
		return empty{}, o.err
	}
	return o.answer, o.err
}
