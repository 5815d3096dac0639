// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Metrics counts requests. Label values are names in the program and its configuration, never data from a caller.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	turned   *prometheus.CounterVec
	panics   prometheus.Counter
	expiry   *prometheus.GaugeVec
	guard    *serving.Metrics
	behind   prometheus.Counter
}

// Reasons for refusing a request before its contract is called.
const (
	refusedToken = "token"
	refusedBusy  = "busy"
	refusedPage  = "page"
)

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_requests_total",
			Help: "Requests by contract, endpoint and HTTP status.",
		}, []string{"contract", "endpoint", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_network_request_duration_seconds",
			Help: "Time from the head of a request to the end of its answer.",
			// A durable allocation takes a few hundred microseconds; Spiderpool waits two minutes for a cloud at the most.
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"contract", "endpoint"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_network_requests_in_flight",
			Help: "Requests that are being answered.",
		}),
		turned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_requests_refused_total",
			Help: "Requests that no contract has seen: without a token that is known, from web pages (page), or when there was too much to do (busy).",
		}, []string{"reason"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_network_panics_total",
			Help: "Requests that were answered with 500 since the program has a bug.",
		}),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_certificate_expiry_timestamp_seconds",
			Help: "When the certificate of a listener ends.",
		}, []string{"listener"}),
		guard: serving.NewMetrics(registry, "network-provider"),
		behind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_network_background_failures_total",
			Help: "Attempts without a caller that failed, such as a release in the cloud; they are made again.",
		}),
	}
	registry.MustRegister(m.requests, m.duration, m.inFlight, m.turned, m.panics, m.expiry, m.behind)
	m.turned.WithLabelValues(refusedToken)
	m.turned.WithLabelValues(refusedBusy)
	m.turned.WithLabelValues(refusedPage)
	return m
}

// FailedInBackground counts an attempt that has failed without a caller.
func (m *Metrics) FailedInBackground() { m.behind.Inc() }

func (m *Metrics) began() { m.inFlight.Inc() }

func (m *Metrics) ended(contract, endpoint string, code int, took time.Duration) {
	m.inFlight.Dec()
	m.requests.WithLabelValues(contract, endpoint, strconv.Itoa(code)).Inc()
	m.duration.WithLabelValues(contract, endpoint).Observe(took.Seconds())
}

func (m *Metrics) refused(reason string) { m.turned.WithLabelValues(reason).Inc() }

// certificate tells when that of a listener ends.
func (m *Metrics) certificate(listener string, config *tls.Config) {
	if leaf := config.Certificates[0].Leaf; leaf != nil {
		m.expiry.WithLabelValues(listener).Set(float64(leaf.NotAfter.Unix()))
	}
}
