// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// TestCollector checks the metrics of each family of a pool: a dual-stack pool is exhausted with its smaller family.
func TestCollector(t *testing.T) {
	c := Collector{
		Pools: func() map[string]ledger.Usage {
			return map[string]ledger.Usage{
				"both": {VLANs: 4, TakenVLANs: 3, Families: []ledger.FamilyUsage{{Bits: 32, Size: 9, Held: 7, Quarantined: 2}, {Bits: 128, Size: 1 << 32, Held: 7}}},
				"none": {},
			}
		},
		Clouds: func() map[string]service.Load { return nil }, Pending: func() int { return 0 },
		Exhaustions: func() map[service.Exhaustion]uint64 {
			return map[service.Exhaustion]uint64{{Pool: "both", Resource: network.OfVLAN}: 2, {Pool: "none", Resource: network.OfCloud}: 1, {Pool: "gone", Resource: network.OfIPv4}: 9}
		},
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	var pools []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "graft_network_pool_") {
			pools = append(pools, strings.TrimSpace(line))
		}
	}
	want := []string{
		`graft_network_pool_addresses{family="ipv4",pool="both",state="held"} 7`,
		`graft_network_pool_addresses{family="ipv4",pool="both",state="quarantine"} 2`,
		`graft_network_pool_addresses{family="ipv6",pool="both",state="held"} 7`,
		`graft_network_pool_addresses{family="ipv6",pool="both",state="quarantine"} 0`,
		`graft_network_pool_exhausted_total{pool="both",resource="cloud"} 0`,
		`graft_network_pool_exhausted_total{pool="both",resource="ipv4"} 0`,
		`graft_network_pool_exhausted_total{pool="both",resource="ipv6"} 0`,
		`graft_network_pool_exhausted_total{pool="both",resource="vlan"} 2`,
		`graft_network_pool_exhausted_total{pool="none",resource="cloud"} 1`,
		`graft_network_pool_size{family="ipv4",pool="both"} 9`,
		`graft_network_pool_size{family="ipv6",pool="both"} 4.294967296e+09`,
		`graft_network_pool_vlans{pool="both"} 4`,
		`graft_network_pool_vlans_used{pool="both"} 3`,
	}
	if diff := cmp.Diff(want, pools); diff != "" {
		t.Error(diff)
	}
}
