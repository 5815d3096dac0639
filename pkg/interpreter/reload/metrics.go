// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import "github.com/prometheus/client_golang/prometheus"

// Metrics report the active profiles and failed reloads. Label values are names in profiles.
type Metrics struct {
	info     *prometheus.GaugeVec
	policy   *prometheus.GaugeVec
	attempts *prometheus.CounterVec
	wrong    prometheus.Gauge
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_interpreter_profile_info",
			Help: "1 for each active profile; hash is the hash of its file.",
		}, []string{"profile", "hash"}),
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_interpreter_policy_info",
			Help: "1 for all active profiles together; servers with the same hash give the same answers.",
		}, []string{"hash"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_interpreter_profile_reloads_total",
			Help: "Attempts to activate changed profiles, by result: success or failure.",
		}, []string{"result"}),
		wrong: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_profile_reload_failed",
			Help: "1 if the latest profiles are invalid and earlier ones stay active.",
		}),
	}
	registry.MustRegister(m.info, m.policy, m.attempts, m.wrong)
	m.attempts.WithLabelValues("success")
	m.attempts.WithLabelValues("failure")
	return m
}

func (m *Metrics) succeeded(next *InForce) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues("success").Inc()
	m.info.Reset()
	for _, d := range next.Documents {
		m.info.WithLabelValues(d.Metadata.Name, d.Hash).Set(1)
	}
	m.policy.Reset()
	m.policy.WithLabelValues(next.Hash).Set(1)
	m.recovered()
}

// recovered clears the failure: the active profiles match the files.
func (m *Metrics) recovered() {
	if m != nil {
		m.wrong.Set(0)
	}
}

func (m *Metrics) failed() {
	if m != nil {
		m.attempts.WithLabelValues("failure").Inc()
		m.wrong.Set(1)
	}
}
