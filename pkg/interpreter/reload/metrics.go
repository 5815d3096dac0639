// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import "github.com/prometheus/client_golang/prometheus"

// Metrics tell what is in force, and what is not. The values of their labels are names in profiles.
type Metrics struct {
	info     *prometheus.GaugeVec
	policy   *prometheus.GaugeVec
	attempts *prometheus.CounterVec
	wrong    prometheus.Gauge
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_interpreter_profile_info",
			Help: "1 for every profile in force; the hash is that of its file.",
		}, []string{"profile", "hash"}),
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_interpreter_policy_info",
			Help: "1 for all profiles in force together; servers with the same hash give the same answers.",
		}, []string{"hash"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_interpreter_profile_reloads_total",
			Help: "Attempts to put profiles in force: success or failure. Unchanged documents are no attempt.",
		}, []string{"result"}),
		wrong: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_profile_reload_failed",
			Help: "1 while the newest documents are wrong, and older ones are in force.",
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
	m.mended()
}

// mended says that what is in force is what is written.
func (m *Metrics) mended() {
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
