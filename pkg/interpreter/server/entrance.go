// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// codec answers with a separate context, which avoids the copy of http.Request.WithContext.
type codec interface {
	ServeIn(ctx context.Context, w http.ResponseWriter, r *http.Request)
}

// entrance passes requests through the guard to the codec and counts them.
type entrance struct {
	Options
	next  codec
	guard *serving.Guard
}

// ServeHTTP implements http.Handler.
func (e *entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.Metrics.began()
	defer e.Metrics.ended()
	a := &answer{ResponseWriter: w}
	defer e.survive(a)
	if err := e.guard.Serve(a, r, e.Limits.BodyBytes, e.next.ServeIn); err != nil {
		// Kubernetes clients retry after this until their timeout.
		e.Metrics.refused.Inc()
		a.Header().Set("Retry-After", "1")
		http.Error(a, err.Error(), http.StatusServiceUnavailable)
	}
}

// survive answers 500 after a panic that the codec did not recover. Call it deferred.
func (e *entrance) survive(a *answer) {
	panicked := recover()
	if panicked == nil {
		return
	}
	if serving.Aborted(panicked) {
		panic(panicked)
	}
	e.Metrics.panics.Inc()
	e.Log.Error(serving.Panicked(panicked), "A request panicked: this is a bug", "stack", string(debug.Stack()))
	if a.begun {
		panic(http.ErrAbortHandler) // abort, because the response must not look complete
	}
	http.Error(a, "the server failed; its log says why", http.StatusInternalServerError)
}

// answer records whether the response has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(data)
}

// Unwrap supports http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
