// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// Metrics tell what is in force, and what is not. The values of their labels are names in profiles.
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
			Help: "1 for every profile in force; the hash is that of its file.",
		}, []string{"profile", "hash"}),
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_policy_info",
			Help: "1 for all profiles in force together; servers with the same hash give the same answers.",
		}, []string{"hash"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_profile_reloads_total",
			Help: "Attempts to put profiles in force: success or failure. Unchanged documents are no attempt.",
		}, []string{"result"}),
		failed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_network_profile_reload_failed",
			Help: "1 while the newest documents are wrong, or refused, and older ones are in force.",
		}),
		stranded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_stranded_allocations",
			Help: "Held allocations of a pool that keep the newest documents from being in force.",
		}, []string{"pool"}),
	}
	registry.MustRegister(m.info, m.policy, m.attempts, m.failed, m.stranded)
	m.attempts.WithLabelValues("success")
	m.attempts.WithLabelValues("failure")
	return m
}

func (m *Metrics) succeeded(documents []*profile.Network, hash string) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues("success").Inc()
	m.info.Reset()
	for _, d := range documents {
		m.info.WithLabelValues(d.Metadata.Name, d.Hash).Set(1)
	}
	m.policy.Reset()
	m.policy.WithLabelValues(hash).Set(1)
	m.mended()
}

// mended says that what is in force is what is written.
func (m *Metrics) mended() {
	if m == nil {
		return
	}
	m.failed.Set(0)
	m.stranded.Reset()
}

func (m *Metrics) failure(stranded *Stranded) {
	if m == nil {
		return
	}
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
