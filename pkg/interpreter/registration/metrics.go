// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics report the state of the registrations of all dialects together.
type Metrics struct {
	mutex sync.Mutex
	// stale and failed list the dialects with an outdated registration, or with a failed read or write.
	stale, failed map[string]bool

	right    prometheus.Gauge
	failing  prometheus.Gauge
	writes   prometheus.Counter
	failures prometheus.Counter
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{stale: map[string]bool{}, failed: map[string]bool{},
		right: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_registration_current",
			Help: "1 if the registration in Karmada's API server was correct at the last check.",
		}),
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_registration_failed",
			Help: "1 if the last attempt to read or write the registration failed.",
		}),
		writes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_registration_writes_total",
			Help: "Writes of the registration by this replica.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_registration_failures_total",
			Help: "Failed attempts to read or write the registration.",
		}),
	}
	registry.MustRegister(m.right, m.failing, m.writes, m.failures)
	return m
}

// note sets the state of a dialect and returns 1 if any dialect has that state.
func (m *Metrics) note(states map[string]bool, dialect string, is bool) float64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	states[dialect] = is
	for _, state := range states {
		if state {
			return 1
		}
	}
	return 0
}

func (m *Metrics) current(dialect string, is bool) {
	if m != nil {
		m.right.Set(1 - m.note(m.stale, dialect, !is))
	}
}

func (m *Metrics) wrote() {
	if m != nil {
		m.writes.Inc()
	}
}

func (m *Metrics) looked(dialect string, err error) {
	if m == nil {
		return
	}
	m.failing.Set(m.note(m.failed, dialect, err != nil))
	if err != nil {
		m.failures.Inc()
	}
}
