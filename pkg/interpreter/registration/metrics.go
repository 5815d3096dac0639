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
	// stale and failed are the dialects whose registration is not as it is wanted, or could not be read or written.
	stale, failed map[string]bool

	right    prometheus.Gauge
	failing  prometheus.Gauge
	writes   prometheus.Counter
	failures prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{stale: map[string]bool{}, failed: map[string]bool{},
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

// note sets the state of a dialect, and returns 1 if any dialect has that state.
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
