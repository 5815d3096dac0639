// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package spiderpool serves the IaaS Network Provider contract of Spiderpool: it binds addresses that Spiderpool has
// selected for a Pod, and returns their settings. It supports the shapes of all releases; docs/usage/spiderpool.md
// lists the responses.
//
// It selects no addresses and keeps no state: Spiderpool selects, the policy authorizes, and the service allocates.
// Start reading at New.
package spiderpool

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// Contract is the name of the wire, and that of its owners in the ledger.
const Contract = "spiderpool"

// The paths of the contract. Callers put the path of their base URL in front of them.
const (
	base         = "/v1/apis/network.iaas.io/"
	allocatePath = base + "ipam/allocate-ips"
	releasePath  = base + "ipam/release-ip"
)

// Additional paths of the reference server in Spiderpool's own end-to-end suite.
const (
	statusPath  = base + "status/ips-cache/{address}"
	healthPath  = "/healthz"
	recordsPath = "/records"
	resetPath   = "/reset"
)

// Extras are settings that only Spiderpool's own end-to-end suite needs.
type Extras struct {
	// Records is how many requests, with their answers, GET /records gives, the last ones; POST /reset forgets them. They are kept in
	// memory and hold names of Pods. 0: there is neither path.
	Records int
}

// handler answers requests.
type handler struct {
	wire.Options
	// records is nil where none are kept.
	records *records
}

// New serves the contract below any path prefix of the callers' base URLs.
func New(o wire.Options, e Extras) http.Handler {
	h := &handler{Options: o}
	endpoints := []wire.Endpoint{
		{Method: http.MethodPost, Path: allocatePath, Serve: serve(h, allocatePath, h.allocate)},
		{Method: http.MethodPost, Path: releasePath, Serve: serve(h, releasePath, h.release)},
		{Method: http.MethodGet, Path: statusPath, Serve: h.status},
		{Method: http.MethodGet, Path: healthPath, Serve: healthy},
	}
	if e.Records > 0 {
		h.records = &records{most: e.Records}
		endpoints = append(endpoints,
			wire.Endpoint{Method: http.MethodGet, Path: recordsPath, Serve: h.records.show},
			wire.Endpoint{Method: http.MethodPost, Path: resetPath, Serve: h.records.reset},
		)
	}
	return withoutPrefix(wire.NewMux(o.Log, endpoints...))
}

// withoutPrefix removes the prefix before the contract's paths.
func withoutPrefix(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := strings.Index(r.URL.Path, base); i > 0 {
			inner := *r
			inner.URL = &url.URL{Path: r.URL.Path[i:], RawQuery: r.URL.RawQuery}
			r = &inner
		}
		next.ServeHTTP(w, r)
	})
}

// serve reads a request, has it answered in the time that its caller has, and writes the answer down. An answer that is nil has no body.
func serve[Q any](h *handler, path string, do func(context.Context, *Q) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var (
			asked  Q
			answer any
		)
		err := wire.Read(w, r, h.MaximumBytes, &asked)
		if err == nil {
			ctx, cancel := within(r)
			answer, err = do(ctx, &asked)
			cancel()
		}
		if err != nil {
			problem := wire.ProblemOf(err)
			h.records.add(record{Path: path, Body: asked, Status: problem.Status, Answer: problem.Message})
			return err
		}
		status := http.StatusOK
		if answer == nil {
			status = http.StatusNoContent
		}
		h.records.add(record{Path: path, Body: asked, Status: status, Answer: answer})
		if answer == nil {
			w.WriteHeader(status)
		} else {
			wire.Write(w, status, answer)
		}
		return nil
	}
}

func healthy(w http.ResponseWriter, _ *http.Request) error {
	wire.Write(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}
