// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// Metrics describes the active configuration and its problems. Label values are names in profiles.
type Metrics struct {
	info     *prometheus.GaugeVec
	policy   *prometheus.GaugeVec
	attempts *prometheus.CounterVec
	failed   prometheus.Gauge
	stranded *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_profile_info",
			Help: "1 for each active profile, with the hash of its file.",
		}, []string{"profile", "hash"}),
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_policy_info",
			Help: "1 for the set of active profiles; servers with the same hash give the same answers.",
		}, []string{"hash"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_profile_reloads_total",
			Help: "Attempts to activate profiles: success or failure. Unchanged documents are not counted.",
		}, []string{"result"}),
		failed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_network_profile_reload_failed",
			Help: "1 while the newest documents are invalid or rejected, and older ones are active.",
		}),
		stranded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_stranded_allocations",
			Help: "Allocations of a pool that prevent the newest documents from becoming active.",
		}, []string{"pool"}),
	}
	registry.MustRegister(m.info, m.policy, m.attempts, m.failed, m.stranded)
	m.attempts.WithLabelValues("success")
	m.attempts.WithLabelValues("failure")
	return m
}

func (m *Metrics) succeeded(documents []*profile.Network, hash string) {
	m.attempts.WithLabelValues("success").Inc()
	m.info.Reset()
	for _, d := range documents {
		m.info.WithLabelValues(d.Metadata.Name, d.Hash).Set(1)
	}
	m.policy.Reset()
	m.policy.WithLabelValues(hash).Set(1)
	m.recovered()
}

// recovered reports that the written configuration is active.
func (m *Metrics) recovered() {
	m.failed.Set(0)
	m.stranded.Reset()
}

func (m *Metrics) failure(stranded *Stranded) {
	m.attempts.WithLabelValues("failure").Inc()
	m.failed.Set(1)
	m.stranded.Reset()
	if stranded == nil {
		return
	}
	for pool, count := range stranded.Pools {
		m.stranded.WithLabelValues(pool).Set(float64(count))
	}
}
