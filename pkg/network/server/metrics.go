// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Metrics counts requests. Label values are names in the program and its configuration, never data from a caller.
type Metrics struct {
	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	inFlight   prometheus.Gauge
	refused    *prometheus.CounterVec
	panics     prometheus.Counter
	expiry     *prometheus.GaugeVec
	guard      *serving.Metrics
	background prometheus.Counter
}

// Reasons for refusing a request before its contract is called.
const (
	refusedBusy = "busy"
	refusedPage = "page"
)

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	auto := promauto.With(registry)
	m := &Metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_requests_total",
			Help: "Requests by contract, endpoint and HTTP status.",
		}, []string{"contract", "endpoint", "code"}),
		duration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_network_request_duration_seconds",
			Help: "Time from the head of a request to the end of its answer.",
			// A durable allocation takes a few hundred microseconds; Spiderpool waits two minutes for a cloud at the most.
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"contract", "endpoint"}),
		inFlight: serving.NewGauge(registry, "graft_network_requests_in_flight", "Requests in progress."),
		refused: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_requests_refused_total",
			Help: "Requests rejected before they reached a contract: from web pages (page), or because of overload (busy).",
		}, []string{"reason"}),
		panics: serving.NewCounter(registry, "graft_network_panics_total", "Requests answered with 500 because of a bug in the program."),
		expiry: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_certificate_expiry_timestamp_seconds",
			Help: "Expiry time of a listener's certificate, in seconds since 1970.",
		}, []string{"listener"}),
		guard: serving.NewMetrics(registry, "network-provider"),
		background: serving.NewCounter(registry, "graft_network_background_failures_total",
			"Failed attempts in the background, such as an unbind in the cloud; they are retried."),
	}
	m.refused.WithLabelValues(refusedBusy)
	m.refused.WithLabelValues(refusedPage)
	return m
}

// FailedInBackground counts an attempt that has failed without a caller.
func (m *Metrics) FailedInBackground() { m.background.Inc() }

// Collector reports the usage of pools and the load of clouds on each scrape. Its labels are names in profiles.
type Collector struct {
	// Pools and Clouds are by name.
	Pools  func() map[string]ledger.Usage
	Clouds func() map[string]service.Load
	// Exhaustions returns the number of rejected allocations by pool and exhausted resource.
	Exhaustions func() map[service.Exhaustion]uint64
	// Pending returns the number of releases that wait for their cloud.
	Pending func() int
}

var (
	descSize = prometheus.NewDesc("graft_network_pool_size",
		"Addresses of a pool, by family; absent if its cloud chooses them.", []string{"pool", "family"}, nil)
	descAddresses = prometheus.NewDesc("graft_network_pool_addresses",
		"Addresses of a pool by family and state: held or quarantine.", []string{"pool", "family", "state"}, nil)
	descVLANs = prometheus.NewDesc("graft_network_pool_vlans",
		"VLANs of a pool at each trunk.", []string{"pool"}, nil)
	descTakenVLANs = prometheus.NewDesc("graft_network_pool_vlans_used",
		"VLANs of a pool that are held or in quarantine, at the trunk with the fewest free ones.", []string{"pool"}, nil)
	descExhausted = prometheus.NewDesc("graft_network_pool_exhausted_total",
		"Allocations rejected because a pool had no free address (ipv4, ipv6), no free VLAN at the trunk (vlan), or its cloud was full (cloud).",
		[]string{"pool", "resource"}, nil)
	descPending = prometheus.NewDesc("graft_network_releases_pending",
		"Releases that wait for their cloud, without releases that do not fit into memory.", nil, nil)
	descWaiting = prometheus.NewDesc("graft_network_cloud_waiting",
		"Queued calls of a cloud: of allocations (bind) and of releases (unbind).", []string{"cloud", "call"}, nil)
	descCalls = prometheus.NewDesc("graft_network_cloud_calls",
		"Calls of a cloud in progress.", []string{"cloud"}, nil)
	descTypical = prometheus.NewDesc("graft_network_cloud_call_seconds",
		"Recent duration of calls of a cloud, in seconds.", []string{"cloud"}, nil)
	descClosed = prometheus.NewDesc("graft_network_cloud_paused_seconds",
		"Remaining time of a cloud's Retry-After, in seconds.", []string{"cloud"}, nil)
)

// Describe implements prometheus.Collector. It sends nothing, because the metrics depend on the profiles.
func (c Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	exhaustions := c.Exhaustions()
	for name, usage := range c.Pools() {
		exhausted := func(kind network.ResourceKind) {
			count := exhaustions[service.Exhaustion{Pool: name, Resource: kind}]
			to <- prometheus.MustNewConstMetric(descExhausted, prometheus.CounterValue, float64(count), name, string(kind))
		}
		exhausted(network.OfCloud) // any cloud can refuse
		for _, of := range usage.Families {
			exhausted(network.OfFamily(of.Bits))
			family := string(network.OfFamily(of.Bits))
			gauge(descSize, float64(of.Size), name, family)
			gauge(descAddresses, float64(of.Held), name, family, "held")
			gauge(descAddresses, float64(of.Quarantined), name, family, "quarantine")
		}
		if usage.VLANs > 0 {
			exhausted(network.OfVLAN)
			gauge(descVLANs, float64(usage.VLANs), name)
			gauge(descTakenVLANs, float64(usage.TakenVLANs), name)
		}
	}
	gauge(descPending, float64(c.Pending()))
	for name, load := range c.Clouds() {
		gauge(descWaiting, float64(load.Binds), name, "bind")
		gauge(descWaiting, float64(load.Unbinds), name, "unbind")
		gauge(descCalls, float64(load.Running), name)
		gauge(descTypical, load.Typical.Seconds(), name)
		gauge(descClosed, load.Paused.Seconds(), name)
	}
}
