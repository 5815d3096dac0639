// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package patrol

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// Metrics counts the findings. Its labels are bounded by the active profiles.
type Metrics struct {
	drifted  *prometheus.GaugeVec
	unread   prometheus.Gauge
	last     prometheus.Gauge
	failures prometheus.Counter
	touched  *prometheus.CounterVec
	givenUp  prometheus.Counter
	resting  prometheus.Gauge
}

// key holds the labels of a finding.
type key struct{ set, target, state string }

type counts map[key]int

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		drifted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_drifted_objects",
			Help: "Objects with drift at the last search, by state: unmutated, outdated, edited, marked, denied or unknown.",
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
			Name: "graft_drift_touched_total", Help: "Touched objects by result: fixed (fixed), stays, gone (deleted) or failed.",
		}, []string{"outcome"}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_drift_given_up_total", Help: "Searches that stopped touching objects because consecutive touches fixed nothing.",
		}),
		resting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_resting_objects",
			Help: "Objects that the next search does not touch because earlier touches fixed nothing.",
		}),
	}
	registry.MustRegister(m.drifted, m.unread, m.last, m.failures, m.touched, m.givenUp, m.resting)
	for _, outcome := range drift.Outcomes() {
		m.touched.WithLabelValues(string(outcome))
	}
	return m
}

// found replaces the previous findings.
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
