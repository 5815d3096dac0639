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
	"net/http"
	"slices"
	"strings"

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

// Endpoint is one path of a contract.
type Endpoint struct {
	Method string
	// Path is a pattern of http.ServeMux without a method.
	Path string
	// Serve answers. An error is answered with its problem; nothing may be written then.
	Serve func(w http.ResponseWriter, r *http.Request) error
}

// NewMux serves the endpoints of a contract. It responds to unknown paths with 404 and a list of paths, and to other
// methods with 405. It logs each failure once, as an error if it is the server's.
func NewMux(log logr.Logger, endpoints ...Endpoint) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	var paths []string
	for _, e := range endpoints {
		mux.HandleFunc(e.Method+" "+e.Path, func(w http.ResponseWriter, r *http.Request) {
			if err := e.Serve(w, r); err != nil {
				fail(log, w, r, err)
			}
		})
		if methods[e.Path] == nil {
			paths = append(paths, e.Path)
		}
		methods[e.Path] = append(methods[e.Path], e.Method)
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			allow := strings.Join(allowed, ", ")
			w.Header().Set("Allow", allow)
			fail(log, w, r, Problemf(http.StatusMethodNotAllowed, "%s needs the method %s", path, allow))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(log, w, r, Problemf(http.StatusNotFound, "there is no such path; there are %s", strings.Join(paths, ", ")))
	})
	return mux
}

// fail answers with a problem, and logs it.
func fail(log logr.Logger, w http.ResponseWriter, r *http.Request, err error) {
	problem := ProblemOf(err)
	log = log.WithValues("method", r.Method, "path", Line(r.URL.Path), "status", problem.Status)
	if problem.Status >= http.StatusInternalServerError {
		log.Error(cmp.Or(problem.Cause, error(problem)), "A request failed")
	} else {
		log.V(1).Info("A request was refused", "why", Line(problem.Message))
	}
	problem.Write(w)
}
