// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package api contains the common code of the contracts: they parse requests, call the service, and write responses in
// the terms of their callers. Each contract is a package below this one; they use neither stores nor clouds nor each
// other.
//
// The server authorizes and limits connections. Start reading at NewMux, Read and Write.
package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// DefaultMaximumBytes limits the body of a request if Options do not, in bytes. A request for one Pod takes some
// kilobytes.
const DefaultMaximumBytes = 1 << 20

// Options configure a codec.
type Options struct {
	Service *service.Service
	// Policy returns the active policy.
	Policy func() *policy.Policy
	// Log receives failures without payloads.
	Log logr.Logger
	// MaximumBytes bounds the body of a request. Default 1 MiB.
	MaximumBytes int64
	// Node is the machine that the server is for; empty: it is for many.
	Node string
}

// Endpoint is one path of a contract; each path has one method.
type Endpoint struct {
	Method string
	// Path is a pattern of http.ServeMux without a method.
	Path string
	// Serve answers. An error is answered with its problem; nothing may be written then.
	Serve func(w http.ResponseWriter, r *http.Request) error
}

// Post returns an endpoint that reads a JSON body, calls do within the time that limit returns, and writes the answer;
// for an answer of nil it writes the status empty without a body.
func Post[Q any](
	o Options, path string, limit func(*http.Request) time.Duration, empty int, do func(context.Context, *Q) (any, error),
) Endpoint {
	return Endpoint{http.MethodPost, path, func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), limit(r))
		defer cancel()
		var asked Q
		if err := Read(w, r, o.MaximumBytes, &asked); err != nil {
			return err
		}
		answer, err := do(ctx, &asked)
		if err != nil {
			return err
		}
		status := http.StatusOK
		if answer == nil {
			status = empty
		}
		Write(w, status, answer)
		return nil
	}}
}

// NewMux serves the endpoints of a contract. It responds to unknown paths with 404 and a list of paths, and to other
// methods with 405. It logs each failure once, as an error if it is the server's. The statuses of errors differ from
// the usual ones as in otherwise.
func NewMux(log logr.Logger, otherwise []Status, endpoints ...Endpoint) http.Handler {
	mux := http.NewServeMux()
	fail := func(w http.ResponseWriter, r *http.Request, err error) {
		problem := ProblemOf(err, otherwise...)
		log := log.WithValues("method", r.Method, "path", Line(r.URL.Path), "status", problem.Status)
		if problem.Status >= http.StatusInternalServerError {
			log.Error(cmp.Or(problem.Cause, error(problem)), "A request failed")
		} else {
			log.V(1).Info("A request was refused", "why", Line(problem.Message))
		}
		problem.Write(w)
	}
	var paths []string
	for _, e := range endpoints {
		paths = append(paths, e.Path)
		mux.HandleFunc(e.Path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != e.Method && (e.Method != http.MethodGet || r.Method != http.MethodHead) {
				w.Header().Set("Allow", e.Method)
				fail(w, r, Problemf(http.StatusMethodNotAllowed, "%s needs the method %s", e.Path, e.Method))
				return
			}
			if err := e.Serve(w, r); err != nil {
				fail(w, r, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, Problemf(http.StatusNotFound, "there is no such path; there are %s", strings.Join(paths, ", ")))
	})
	return mux
}
