// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
)

// Metrics are the metrics of webhooks and profiles. The loaded profiles bound the label values: no input of a
// caller becomes one.
type Metrics struct {
	admissions *prometheus.CounterVec
	failures   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	patch      *prometheus.HistogramVec
	applied    *prometheus.CounterVec
	info       *prometheus.GaugeVec
	states     *prometheus.GaugeVec
	reloads    watch.Metrics
	// unauthorized counts rejected clients.
	unauthorized *prometheus.CounterVec
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	create := promauto.With(registry)
	m := &Metrics{
		admissions: create.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_admissions_total",
			Help: "Admissions by result: patched, unchanged, ignored (no target or other operation), opted-out, " +
				"yielded (another installation serves the provider) or denied.",
		}, []string{"set", "provider", "target", "result"}),
		failures: create.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_admission_failures_total",
			Help: "Failed admissions, by reason.",
		}, []string{"set", "provider", "reason"}),
		duration: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_admission_duration_seconds",
			Help: "Time from the first byte of a review's header to the response.",
			// An object without rules takes tens of microseconds; the API server's default timeout is ten
			// seconds.
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"set", "provider"}),
		patch: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_patch_bytes",
			Help: "Size of patches in responses, before base64.",
			// A flag takes about a hundred bytes; etcd's limit for objects is 1.5 MiB.
			Buckets: []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20},
		}, []string{"set", "provider"}),
		applied: create.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_rules_total",
			Help: "Rules by result of an admission: changed, unchanged, skipped or overridden. With mode observe also: observed (the rule " +
				"would change the object) or denied (the rule would deny it).",
		}, []string{"set", "target", "profile", "rule", "result"}),
		info: create.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_profile_info",
			Help: "1 for each active profile, with the hash of its file.",
		}, []string{"profile", "hash"}),
		states: create.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_profile_state",
			Help: "1 for each profile file in its state: valid, last-good (the newest version is invalid, and the last valid one is active) " +
				"or invalid (no version is active, and objects of its providers are denied).",
		}, []string{"profile", "source", "state"}),
		reloads: watch.Metrics{
			Attempts: create.NewCounterVec(prometheus.CounterOpts{
				Name: "graft_profile_reloads_total",
				Help: "Attempts to load profiles: success or failure. Unchanged documents are not counted.",
			}, []string{"result"}),
			Failed: create.NewGauge(prometheus.GaugeOpts{
				Name: "graft_profile_reload_failed",
				Help: "1 while the newest version of a document is invalid; graft_profile_state names it.",
			}),
		},
		unauthorized: create.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_unauthorized_reviews_total",
			Help: "Requests without credentials of the API server, by the missing one: the secret segment of the path, or a client certificate.",
		}, []string{"missing"}),
	}
	// These counters exist before the first count.
	m.unauthorized.WithLabelValues("path")
	m.unauthorized.WithLabelValues("certificate")
	m.reloads.Attempts.WithLabelValues("success")
	m.reloads.Attempts.WithLabelValues("failure")
	return m
}

// patched counts an admission with a patch of the given size in bytes.
func (m *Metrics) patched(x *exchange, target string, bytes int) {
	m.admission(x, target, "patched")
	m.patch.WithLabelValues(string(x.route.Set), x.provider).Observe(float64(bytes))
}

func (m *Metrics) admission(x *exchange, target, result string) {
	if target == "" {
		target = "none"
	}
	m.admissions.WithLabelValues(string(x.route.Set), x.provider, target, result).Inc()
	m.duration.WithLabelValues(string(x.route.Set), x.provider).Observe(time.Since(x.started).Seconds())
}

func (m *Metrics) failure(x *exchange, reason mutation.Reason) {
	m.failures.WithLabelValues(string(x.route.Set), x.provider, string(reason)).Inc()
}

// rules counts the results of the rules.
func (m *Metrics) rules(x *exchange, result *mutation.Result) {
	for _, applied := range result.Applied {
		m.applied.WithLabelValues(string(x.route.Set), result.Target, applied.Profile, applied.Rule, counted(applied)).Inc()
	}
}

// counted returns the result label of a rule. A rule in observe mode counts as observed if it would change the
// object.
func counted(applied mutation.Applied) string {
	if applied.Outcome == mutation.Observed && applied.Would != mutation.Changed {
		return string(applied.Would)
	}
	return string(applied.Outcome)
}

// setActive sets the metric of the active profiles, and deletes the counters of the rules of earlier ones.
func (m *Metrics) setActive(documents []*profile.Document) {
	m.applied.Reset()
	m.info.Reset()
	for _, d := range documents {
		m.info.WithLabelValues(d.Metadata.Name, d.Hash).Set(1)
	}
}

// profiles sets the state of each file of profiles.
func (m *Metrics) profiles(statuses []Status) {
	m.states.Reset()
	for i := range statuses {
		m.states.WithLabelValues(statuses[i].name(), statuses[i].Source, string(statuses[i].State)).Set(1)
	}
}
