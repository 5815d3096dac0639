// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import "github.com/prometheus/client_golang/prometheus"

// Metrics tell how the registration is.
type Metrics struct {
	right    prometheus.Gauge
	failing  prometheus.Gauge
	writes   prometheus.Counter
	failures prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		right: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_registration_current",
			Help: "1 while the registration in Karmada's API server is as this replica wants it, as of the last look.",
		}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_registration_failed",
			Help: "1 while the registration cannot be looked at or written.",
		}),
		writes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_registration_writes_total",
			Help: "How often this replica has written the registration.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_registration_failures_total",
			Help: "Looks at the registration that failed, or could not write it.",
		}),
	}
	registry.MustRegister(m.right, m.failing, m.writes, m.failures)
	return m
}

func gauge(g prometheus.Gauge, is bool) {
	if is {
		g.Set(1)
	} else {
		g.Set(0)
	}
}

func (m *Metrics) current(is bool) {
	if m != nil {
		gauge(m.right, is)
	}
}

func (m *Metrics) wrote() {
	if m != nil {
		m.writes.Inc()
	}
}

func (m *Metrics) looked(err error) {
	if m == nil {
		return
	}
	gauge(m.failing, err != nil)
	if err != nil {
		m.failures.Inc()
	}
}
