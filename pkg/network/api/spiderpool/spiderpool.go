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
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
)

// Contract is the name of the contract, also in its owners in the ledger.
const Contract = "spiderpool"

// base is the path of the contract. Callers put the path of their base URL in front of it.
const base = "/v1/apis/network.iaas.io/"

// handler answers requests.
type handler struct{ api.Options }

// New serves the contract below any path prefix of the callers' base URLs. The paths for GET are those of Spiderpool's
// own reference server.
func New(o api.Options) http.Handler {
	h := &handler{o}
	mux := api.NewMux(o.Log, nil,
		api.Post(o, base+"ipam/allocate-ips", budget, http.StatusNoContent, h.allocate),
		api.Post(o, base+"ipam/release-ip", budget, http.StatusNoContent, h.release),
		api.Endpoint{Method: http.MethodGet, Path: base + "status/ips-cache/{address}", Serve: h.status},
		api.Endpoint{Method: http.MethodGet, Path: "/healthz", Serve: func(w http.ResponseWriter, _ *http.Request) error {
			api.Write(w, http.StatusOK, map[string]string{"status": "ok"})
			return nil
		}},
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := strings.Index(r.URL.Path, base); i > 0 {
			inner := *r
			inner.URL = &url.URL{Path: r.URL.Path[i:], RawQuery: r.URL.RawQuery}
			r = &inner
		}
		mux.ServeHTTP(w, r)
	})
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

// budget returns the time of the caller for a request; it is not positive if no time is left. It ignores an invalid
// header, because a call without a deadline is better than a refusal.
func budget(r *http.Request) time.Duration {
	milliseconds, err := strconv.ParseInt(strings.TrimSpace(r.Header.Get(timeoutHeader)), 10, 64)
	if err != nil || milliseconds > defaultTimeout.Milliseconds() {
		return defaultTimeout
	}
	left := time.Duration(max(milliseconds, 0)) * time.Millisecond
	return left - min(left/returnPart, returnMost)
}

// binding is the binding of an address.
type binding struct {
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
	ctx, cancel := context.WithTimeout(r.Context(), budget(r))
	defer cancel()
	found, err := h.findBinding(ctx, address)
	if errors.Is(err, network.ErrNotHeld) {
		return api.Problemf(http.StatusNotFound, "nothing is bound for %s", address)
	}
	if err != nil {
		return err
	}
	api.Write(w, http.StatusOK, map[string]binding{"entry": found})
	return nil
}

// findBinding finds the binding of an address in any pool. The error wraps network.ErrNotHeld if there is none.
func (h *handler) findBinding(ctx context.Context, address netip.Addr) (binding, error) {
	for _, pool := range h.Policy().Pools {
		for _, subnet := range pool.Subnets {
			if !subnet.Prefix.Contains(address) {
				continue
			}
			a, err := h.Service.ByAddress(ctx, pool.Name, address)
			if err == nil && a.Owner.Contract == Contract && a.State == network.Bound {
				return binding{
					Node: a.Holder.Node, Address: address.String(), Subnet: subnet.Prefix.String(), Parent: a.Holder.Device,
					MAC: a.HardwareAddr().String(), VLAN: int64(a.VLANID()),
				}, nil
			}
			if err != nil && !errors.Is(err, network.ErrNotHeld) {
				return binding{}, err
			}
		}
	}
	return binding{}, network.ErrNotHeld
}
