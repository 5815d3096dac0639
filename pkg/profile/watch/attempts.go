// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Attempts makes attempts to activate changed documents, and reports them: each activation, and each failure once.
type Attempts struct {
	// Read reads the files with the documents.
	Read func() ([]source.File, error)
	// Ignored returns files in folders that Read ignores because they are no documents. It may be nil.
	Ignored func() []string
	Metrics *Metrics
	Log     logr.Logger

	// mutex guards the last attempt.
	mutex   sync.Mutex
	tried   Digest
	outcome error
	problem string
}

// First records the documents that are active from the start.
func (a *Attempts) First(files []source.File) { a.tried = DigestOf(files) }

// Load calls activate with the current files if they have changed, or if again reports that the last failure may be
// over; it may be nil. Otherwise it returns the outcome of the last attempt.
func (a *Attempts) Load(ctx context.Context, again func(error) bool, activate func([]source.File) error) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	files, err := a.Read()
	if err != nil {
		return a.failed(err)
	}
	sum := DigestOf(files)
	if sum == a.tried && (again == nil || !again(a.outcome)) {
		if a.outcome == nil {
			a.problem = ""
			a.Metrics.failed.Set(0)
		}
		return a.outcome
	}
	err = activate(files)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.tried, a.outcome = sum, err; err != nil {
		return a.failed(err)
	}
	a.problem = ""
	return nil
}

// Activated logs and counts the new active documents. hash identifies all of them together.
func (a *Attempts) Activated(summaries []string, hash string, warnings source.Findings, keysAndValues ...any) {
	a.Log.Info("Activated profiles", append([]any{"profiles", summaries, "hash", hash}, keysAndValues...)...)
	if a.Ignored != nil {
		if left := a.Ignored(); len(left) > 0 {
			a.Log.Info("Ignored files without apiVersion and kind", "files", left)
		}
	}
	for _, warning := range warnings {
		a.Log.Info("A profile has a warning", "warning", warning.Error())
	}
	a.Metrics.activated(summaries, hash)
}

// failed counts and logs a failure if its text differs from the one before.
func (a *Attempts) failed(err error) error {
	if err.Error() == a.problem {
		return err
	}
	a.problem = err.Error()
	a.Metrics.attempts.WithLabelValues("failure").Inc()
	a.Metrics.failed.Set(1)
	profile.LogPanic(a.Log, err)
	a.Log.Error(err, "Reloading the profiles failed; the previous ones stay active")
	return err
}

// Metrics report the active documents and failed attempts. Label values are names in documents.
type Metrics struct {
	info     *prometheus.GaugeVec
	policy   *prometheus.GaugeVec
	attempts *prometheus.CounterVec
	failed   prometheus.Gauge
}

// NewMetrics creates and registers the metrics of a server, such as network. Without a registry, nothing reads them.
func NewMetrics(registry prometheus.Registerer, server string) *Metrics {
	m := &Metrics{
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_" + server + "_profile_info",
			Help: "1 for each active profile, with the hash of its file.",
		}, []string{"profile", "hash"}),
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_" + server + "_policy_info",
			Help: "1 for all active profiles together; servers with the same hash give the same answers.",
		}, []string{"hash"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_" + server + "_profile_reloads_total",
			Help: "Attempts to activate changed profiles, by result: success or failure.",
		}, []string{"result"}),
		failed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_" + server + "_profile_reload_failed",
			Help: "1 if the newest profiles are invalid or rejected, and earlier ones stay active.",
		}),
	}
	if registry != nil {
		registry.MustRegister(m.info, m.policy, m.attempts, m.failed)
	}
	m.attempts.WithLabelValues("success")
	m.attempts.WithLabelValues("failure")
	return m
}

// activated counts the new active documents. A summary is name@hash.
func (m *Metrics) activated(summaries []string, hash string) {
	m.attempts.WithLabelValues("success").Inc()
	m.info.Reset()
	for _, summary := range summaries {
		name, own, _ := strings.Cut(summary, "@")
		m.info.WithLabelValues(name, own).Set(1)
	}
	m.policy.Reset()
	m.policy.WithLabelValues(hash).Set(1)
	m.failed.Set(0)
}
