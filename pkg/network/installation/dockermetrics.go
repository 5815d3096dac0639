// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// dockerMetrics count error answers to Docker and removed objects.
type dockerMetrics struct {
	errors  *prometheus.CounterVec
	removed *prometheus.CounterVec
}

func newDockerMetrics(registry prometheus.Registerer) *dockerMetrics {
	auto := promauto.With(registry)
	m := &dockerMetrics{
		errors: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_docker_errors_total",
			Help: "Error answers to Docker (field Err, mostly with status 200), by fault: caller or server.",
		}, []string{"endpoint", "fault"}),
		removed: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_docker_stale_removed_total",
			Help: "Unused objects that were removed, by kind: network, endpoint or link.",
		}, []string{"kind"}),
	}
	for _, what := range []string{"network", "endpoint", "link"} {
		m.removed.WithLabelValues(what)
	}
	return m
}

// failed counts an error answer.
func (m *dockerMetrics) failed(method string, ours bool) {
	fault := "caller"
	if ours {
		fault = "server"
	}
	m.errors.WithLabelValues(cmp.Or(method, "other"), fault).Inc()
}
