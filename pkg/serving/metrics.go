// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// NewCounter creates and registers a counter.
func NewCounter(registry prometheus.Registerer, name, help string) prometheus.Counter {
	return promauto.With(registry).NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// NewGauge creates and registers a gauge.
func NewGauge(registry prometheus.Registerer, name, help string) prometheus.Gauge {
	return promauto.With(registry).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// Metrics counts the connections and requests that a Guard accepts and rejects. A nil Metrics counts nothing.
type Metrics struct {
	connections, bytes prometheus.Gauge
	refused            *prometheus.CounterVec
}

// Values of the labels of graft_server_refused_total.
const (
	refusedConnection = "connection"
	refusedRequest    = "request"
	refusedBody       = "body"

	reasonBusy    = "busy"
	reasonStalled = "stalled"
)

// NewMetrics creates and registers the metrics. The label server distinguishes programs, so that alerts select
// one of them.
func NewMetrics(registry prometheus.Registerer, server string) *Metrics {
	registry = prometheus.WrapRegistererWith(prometheus.Labels{"server": server}, registry)
	m := &Metrics{
		connections: NewGauge(registry, "graft_server_connections", "Open connections."),
		bytes: NewGauge(registry, "graft_server_body_bytes",
			"Bytes of request bodies in memory: received bytes of requests that arrive, wait or are in progress."),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_server_refused_total",
			Help: "Connections, requests and bodies that were ended because of a limit: the one that waited longest for its caller (stalled), " +
				"or the new one, if all existing ones are in progress (busy).",
		}, []string{"kind", "reason"}),
	}
	registry.MustRegister(m.refused)
	for _, what := range []string{refusedConnection, refusedRequest, refusedBody} {
		m.refused.WithLabelValues(what, reasonBusy)
		m.refused.WithLabelValues(what, reasonStalled)
	}
	return m
}

func (m *Metrics) refuse(what, reason string) {
	if m != nil {
		m.refused.WithLabelValues(what, reason).Inc()
	}
}

func (m *Metrics) setConnections(open int) {
	if m != nil {
		m.connections.Set(float64(open))
	}
}

func (m *Metrics) addBytes(n int64) {
	if m != nil {
		m.bytes.Add(float64(n))
	}
}
