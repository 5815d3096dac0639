// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package patrol periodically looks for drift in the extension, counts the findings, and touches the objects if
// operators enable this. It is off by default and runs only in the leader. Start reading at Patrol.
package patrol

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// Patrol is a Runnable of a manager.
type Patrol struct {
	Finder drift.Finder
	// Toucher touches drifted objects; if nil, they are only counted.
	Toucher *drift.Toucher
	// Interval is the time between the end of a search and the next one.
	Interval time.Duration
	// Ready returns an error while the webhooks are not registered. No search starts before. Nil means that they are
	// registered.
	Ready   func(context.Context) error
	Clock   clock.Clock
	Metrics *Metrics
	Log     logr.Logger

	// futile has the objects that earlier touches did not fix.
	futile cooldowns
}

// NeedLeaderElection returns true: only the leader patrols, because two replicas would touch at twice the rate.
func (*Patrol) NeedLeaderElection() bool { return true }

// Start patrols until the context ends. It never fails.
func (p *Patrol) Start(ctx context.Context) error {
	p.Log.Info("Searching for drift", "interval", p.Interval, "touch", p.Toucher != nil)
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

// search finds drift in all control planes, and then touches the drifted objects.
func (p *Patrol) search(ctx context.Context) {
	count := counts{}
	var drifted []drift.Object
	summary, err := p.Finder.Find(ctx, func(f drift.Finding) error {
		count[key{string(f.Set), f.Target, string(f.State)}]++
		if p.Toucher != nil && f.State.Drifted() && !last(drifted, f.Object) {
			drifted = append(drifted, f.Object)
		}
		return nil
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.Metrics.failed()
		p.Log.Error(err, "The search for drift failed")
		return
	}
	p.Metrics.found(count, summary, p.Clock.Now())
	for _, unread := range summary.Unread {
		p.Log.Error(nil, "A control plane could not be read", "namespace", unread.Namespace, "problem", unread.Problem)
	}
	p.Log.Info("Searched for drift", "controlPlanes", summary.ControlPlanes, "objects", summary.Objects, "drifted", summary.Drifted(), "unread", len(summary.Unread))
	p.touchAll(ctx, drifted)
}

// touchAll touches the drifted objects, except those that cool down after futile touches. It stops after too many
// futile touches in a row, which indicate another problem.
func (p *Patrol) touchAll(ctx context.Context, drifted []drift.Object) {
	if p.Toucher == nil {
		return
	}
	drifted = p.futile.wanted(drifted, p.Finder.Engine)
	defer func() { p.Metrics.coolingDown.Set(float64(p.futile.coolingDown())) }()
	streak := &drift.Streak{}
	for i, object := range drifted {
		outcome := p.touch(ctx, object)
		if outcome == "" {
			return
		}
		p.futile.record(object, outcome)
		if streak.Seen(outcome) {
			p.Metrics.givenUp.Inc()
			p.Log.Error(nil, "Stopped touching objects until the next search", "why", streak.String(), "left", len(drifted)-i-1)
			return
		}
	}
}

// last reports whether the previous finding is the same object, for another webhook.
func last(all []drift.Object, o drift.Object) bool {
	return len(all) > 0 && all[len(all)-1].Same(o)
}

// touch touches one object. It returns no outcome if the context has ended.
func (p *Patrol) touch(ctx context.Context, o drift.Object) drift.Outcome {
	outcome, err := p.Toucher.Touch(ctx, o)
	if ctx.Err() != nil {
		return ""
	}
	if outcome == "" {
		outcome = drift.Failed
	}
	p.Metrics.touched.WithLabelValues(string(outcome)).Inc()
	if err != nil {
		p.Log.Error(err, "Touching an object failed", "kind", o.Kind, "namespace", o.Namespace, "name", o.Name)
		return outcome
	}
	p.Log.Info("Touched an object", "kind", o.Kind, "namespace", o.Namespace, "name", o.Name, "outcome", outcome)
	return outcome
}

// longestCooldown is the maximum number of searches that skip an object without effect: a day, with the default
// interval.
const longestCooldown = 23

// cooldowns holds objects whose drift remained after a touch, because another program writes them. Each touch may roll
// their Pods, so the patrol skips them for one search, and for twice as many after each further futile touch. The zero
// value holds none.
type cooldowns struct {
	// versions are the profiles at the previous search.
	versions []string
	objects  map[drift.Object]cooldown
	// turns counts the futile touches.
	turns int
}

// cooldown is the number of searches that skip an object (of), and the number left. turn is the time of its last touch,
// counted in futile touches.
type cooldown struct{ of, left, turn int }

// wanted returns the objects to touch: first those that were never touched, in the order of their discovery, then those
// touched longest ago, so that each gets its turn even if many touches are futile. It forgets objects that have not
// drifted, and everything if the profiles have changed.
func (f *cooldowns) wanted(drifted []drift.Object, e drift.Engine) []drift.Object {
	var versions []string
	for _, profile := range e.Profiles() {
		versions = append(versions, profile.Version())
	}
	before := f.objects
	if !slices.Equal(versions, f.versions) {
		before = nil
	}
	f.versions, f.objects = versions, map[drift.Object]cooldown{}
	var wanted []drift.Object
	for _, object := range drifted {
		known, is := before[object]
		if known.left == 0 {
			wanted = append(wanted, object)
		}
		if is {
			known.left = max(0, known.left-1)
			f.objects[object] = known
		}
	}
	slices.SortStableFunc(wanted, func(a, b drift.Object) int { return cmp.Compare(f.objects[a].turn, f.objects[b].turn) })
	return wanted
}

// record records the outcome of a touch.
func (f *cooldowns) record(o drift.Object, outcome drift.Outcome) {
	if outcome == drift.Stays || outcome == drift.Failed {
		of := min(2*f.objects[o].of+1, longestCooldown)
		f.turns++
		f.objects[o] = cooldown{of, of, f.turns}
	}
}

// coolingDown returns the number of objects that the next search will not touch.
func (f *cooldowns) coolingDown() int {
	count := 0
	for _, r := range f.objects {
		if r.left > 0 {
			count++
		}
	}
	return count
}

// Metrics counts the findings. Its labels are bounded by the active profiles.
type Metrics struct {
	drifted     *prometheus.GaugeVec
	unread      prometheus.Gauge
	last        prometheus.Gauge
	failures    prometheus.Counter
	touched     *prometheus.CounterVec
	givenUp     prometheus.Counter
	coolingDown prometheus.Gauge
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
		touched: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_drift_touched_total", Help: "Touched objects by result: fixed, stays (drift remains), gone (deleted) or failed.",
		}, []string{"outcome"}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_drift_given_up_total", Help: "Searches that stopped touching objects because consecutive touches fixed nothing.",
		}),
		coolingDown: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_drift_postponed_objects",
			Help: "Objects that the next search does not touch because earlier touches fixed nothing.",
		}),
	}
	registry.MustRegister(m.drifted, m.unread, m.last, m.failures, m.touched, m.givenUp, m.coolingDown)
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
