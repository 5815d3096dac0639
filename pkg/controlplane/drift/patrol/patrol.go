// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package patrol periodically looks for drift in the extension, and counts the findings. It is off by default and runs
// only in the leader. Start reading at Patrol.
package patrol

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// Patrol is a Runnable of a manager.
type Patrol struct {
	Finder drift.Finder
	// Interval is the time between the end of a search and the next one.
	Interval time.Duration
	// Ready returns an error while the webhooks are not registered. No search starts before. Nil means that they are
	// registered.
	Ready   func(context.Context) error
	Clock   clock.Clock
	Metrics *Metrics
	Log     logr.Logger
}

// NeedLeaderElection returns true: one replica reads all objects.
func (*Patrol) NeedLeaderElection() bool { return true }

// Start patrols until the context ends. It never fails.
func (p *Patrol) Start(ctx context.Context) error {
	p.Log.Info("Searching for drift", "interval", p.Interval)
	for {
		pause := notReady
		if p.Ready == nil || p.Ready(ctx) == nil {
			p.search(ctx)
			pause = p.Interval
		}
		timer := p.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// notReady is the interval between checks whether the webhooks are registered. The check reads a cache.
const notReady = time.Second

// search counts the drift in all control planes.
func (p *Patrol) search(ctx context.Context) {
	count := counts{}
	summary, err := p.Finder.Find(ctx, func(f drift.Finding) error {
		count[key{string(f.Set), f.Target, string(f.State)}]++
		return nil
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.Metrics.failed()
		p.Log.Error(err, "The search for drift failed; it is repeated", "after", p.Interval)
		return
	}
	p.Metrics.found(count, summary, p.Clock.Now())
	for _, unread := range summary.Unread {
		p.Log.Error(nil, "A control plane could not be read and is not in the result", "namespace", unread.Namespace, "problem", unread.Problem)
	}
	p.Log.Info("Searched for drift", "controlPlanes", summary.ControlPlanes, "objects", summary.Objects, "drifted", summary.Drifted(), "unread", len(summary.Unread))
}

// Metrics counts the findings. Its labels are bounded by the active profiles.
type Metrics struct {
	drifted  *prometheus.GaugeVec
	unread   prometheus.Gauge
	last     prometheus.Gauge
	failures prometheus.Counter
}

// key holds the labels of a finding.
type key struct{ set, target, state string }

type counts map[key]int

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		drifted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_drifted_objects",
			Help: "Objects with drift at the last search, by state: unmutated, outdated, edited, marked, denied or unknown.",
		}, []string{"set", "target", "state"}),
		unread: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_unread_namespaces", Help: "Control planes that the last search for drift could not read.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_last_search_timestamp_seconds", Help: "Time of the last complete search for drift, in seconds since 1970; 0: never.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_drift_failures_total", Help: "Searches for drift that failed completely.",
		}),
	}
	registry.MustRegister(m.drifted, m.unread, m.last, m.failures)
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
