// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package patrol

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// Metrics count what is found. Their labels are bounded by the profiles in force.
type Metrics struct {
	drifted  *prometheus.GaugeVec
	unread   prometheus.Gauge
	last     prometheus.Gauge
	failures prometheus.Counter
	touched  *prometheus.CounterVec
	givenUp  prometheus.Counter
	resting  prometheus.Gauge
}

// key are the labels of what is found.
type key struct{ set, target, state string }

type counts map[key]int

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		drifted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_drifted_objects",
			Help: "Objects that are not as they should be, at the last look, by what is with them: unmutated, outdated, edited, marked, denied or unknown.",
		}, []string{"set", "target", "state"}),
		unread: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_unread_namespaces", Help: "Control planes that could not be read at the last look for drift.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_last_look_timestamp_seconds", Help: "When it was last looked for drift to the end; 0: never.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_drift_failures_total", Help: "Looks for drift that failed as a whole.",
		}),
		touched: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_drift_touched_total", Help: "Objects that were touched, by what became of them: mended, stays, gone or failed.",
		}, []string{"outcome"}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_drift_given_up_total", Help: "Looks after which touching was given up, since touches in a row had mended nothing.",
		}),
		resting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_resting_objects",
			Help: "Objects that are not touched at the next look, since touches of them have mended nothing.",
		}),
	}
	registry.MustRegister(m.drifted, m.unread, m.last, m.failures, m.touched, m.givenUp, m.resting)
	for _, outcome := range drift.Outcomes() {
		m.touched.WithLabelValues(string(outcome))
	}
	return m
}

// found replaces what was found before.
func (m *Metrics) found(count counts, s drift.Summary, at time.Time) {
	m.drifted.Reset()
	for of, n := range count {
		target := of.target
		if target == "" {
			target = "none"
		}
		m.drifted.WithLabelValues(of.set, target, of.state).Set(float64(n))
	}
	m.unread.Set(float64(len(s.Unread)))
	m.last.Set(float64(at.Unix()))
}

func (m *Metrics) failed() { m.failures.Inc() }
