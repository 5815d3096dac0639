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
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// Contract is the name of the contract, also in its owners in the ledger.
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
	// Records is the number of recent requests that GET /records returns with their answers. POST /reset deletes them.
	// They are kept in memory and contain names of Pods. With 0, both paths are absent.
	Records int
}

// handler answers requests.
type handler struct {
	api.Options
	// records is nil if no requests are recorded.
	records *records
}

// New serves the contract below any path prefix of the callers' base URLs.
func New(o api.Options, e Extras) http.Handler {
	h := &handler{Options: o}
	endpoints := []api.Endpoint{
		{Method: http.MethodPost, Path: allocatePath, Serve: serve(h, allocatePath, h.allocate)},
		{Method: http.MethodPost, Path: releasePath, Serve: serve(h, releasePath, h.release)},
		{Method: http.MethodGet, Path: statusPath, Serve: h.status},
		{Method: http.MethodGet, Path: healthPath, Serve: healthy},
	}
	if e.Records > 0 {
		h.records = &records{most: e.Records}
		endpoints = append(endpoints,
			api.Endpoint{Method: http.MethodGet, Path: recordsPath, Serve: h.records.show},
			api.Endpoint{Method: http.MethodPost, Path: resetPath, Serve: h.records.reset},
		)
	}
	return withoutPrefix(api.NewMux(o.Log, endpoints...))
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

// serve returns a handler that reads a request, calls do within the time of the caller, writes the answer, and records
// both. A nil answer is written as 204 without a body.
func serve[Q any](h *handler, path string, do func(context.Context, *Q) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var (
			asked  Q
			answer any
		)
		err := api.Read(w, r, h.MaximumBytes, &asked)
		if err == nil {
			ctx, cancel := withBudget(r)
			answer, err = do(ctx, &asked)
			cancel()
		}
		if err != nil {
			problem := api.ProblemOf(err)
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
			api.Write(w, status, answer)
		}
		return nil
	}
}

func healthy(w http.ResponseWriter, _ *http.Request) error {
	api.Write(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// timeoutHeader is the rest of the caller's timeout in milliseconds; Spiderpool sends it since v1.2.2.
const timeoutHeader = "X-Request-Timeout-Ms"

// defaultTimeout is the caller's timeout without timeoutHeader (Spiderpool's IaaS contract), and the maximum with it.
const defaultTimeout = 2 * time.Minute

// The part of a caller's timeout that is reserved for sending the response: a twentieth, at most half a second.
const (
	returnPart = 20
	returnMost = 500 * time.Millisecond
)

// withBudget limits the work on a request to the time of its caller.
func withBudget(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), budget(r.Header.Get(timeoutHeader)))
}

// budget parses the header. It ignores an invalid number, because a call without a deadline is better than a refusal;
// the result is not positive if no time is left.
func budget(header string) time.Duration {
	milliseconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64)
	if err != nil || milliseconds > defaultTimeout.Milliseconds() {
		return defaultTimeout
	}
	left := time.Duration(max(milliseconds, 0)) * time.Millisecond
	return left - min(left/returnPart, returnMost)
}

// entry holds the values that the suite compares with those of a Pod.
type entry struct {
	Node    string `json:"nodeName"`
	Address string `json:"ipAddress"`
	Subnet  string `json:"subnet"`
	Parent  string `json:"parentNicMac"`
	MAC     string `json:"mac"`
	VLAN    int64  `json:"vlanID"`
}

// status returns the binding of an address.
func (h *handler) status(w http.ResponseWriter, r *http.Request) error {
	address, err := parseAddress(r.PathValue("address"))
	if err != nil {
		return api.Problemf(http.StatusBadRequest, "the address %s", err)
	}
	ctx, cancel := withBudget(r)
	defer cancel()
	found, err := h.findBinding(ctx, h.Policy(), address)
	if errors.Is(err, network.ErrNotHeld) {
		return api.Problemf(http.StatusNotFound, "nothing is bound for %s", address)
	}
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, map[string]entry{"entry": found})
	return nil
}

// findBinding finds the binding of an address in any pool. The error wraps network.ErrNotHeld.
func (h *handler) findBinding(ctx context.Context, p *policy.Policy, address netip.Addr) (entry, error) {
	for _, pool := range p.Pools {
		for _, subnet := range pool.Subnets {
			if !subnet.Prefix.Contains(address) {
				continue
			}
			a, err := h.Service.ByAddress(ctx, pool.Name, address)
			if err == nil && a.Owner.Contract == Contract && a.State == network.Bound {
				return entry{
					Node: a.Holder.Node, Address: address.String(), Subnet: subnet.Prefix.String(), Parent: a.Holder.Device,
					MAC: a.HardwareAddr().String(), VLAN: int64(a.VLANID()),
				}, nil
			}
			if err != nil && !errors.Is(err, network.ErrNotHeld) {
				return entry{}, err
			}
		}
	}
	return entry{}, network.ErrNotHeld
}

// record is a request and its answer. The suite reads path and body only.
type record struct {
	Path   string `json:"path"`
	Body   any    `json:"body"`
	Status int    `json:"status"`
	Answer any    `json:"answer,omitempty"`
}

// records has the recent requests in the order of their answers. A nil value records nothing.
type records struct {
	most int

	mutex sync.Mutex
	kept  []record
}

func (r *records) add(one record) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.kept) == r.most {
		r.kept = append(r.kept[:0], r.kept[1:]...)
	}
	r.kept = append(r.kept, one)
}

func (r *records) show(w http.ResponseWriter, _ *http.Request) error {
	r.mutex.Lock()
	kept := append([]record{}, r.kept...)
	r.mutex.Unlock()
	api.Write(w, http.StatusOK, map[string][]record{"records": kept})
	return nil
}

// reset deletes the recorded requests. Allocations remain.
func (r *records) reset(w http.ResponseWriter, _ *http.Request) error {
	r.mutex.Lock()
	r.kept = nil
	r.mutex.Unlock()
	api.Write(w, http.StatusOK, map[string]string{"status": "reset"})
	return nil
}
