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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Reloader activates changed documents, and reports each activation once and each failure once. It is what all servers have
// in common; T is what a server compiles its documents to. After a failure, the previous documents stay active.
type Reloader[T any] struct {
	// Read reads the files with the documents.
	Read func(context.Context) ([]source.File, error)
	// Compile compiles the files without side effects. A panic is a failure that names the files.
	Compile func(context.Context, []source.File) (T, error)
	// Activate makes compiled documents active. It fails if it rejects them.
	Activate func(context.Context, T) error
	// MayRetry reports whether unchanged documents may succeed now that failed with an error. It may be nil.
	MayRetry func(context.Context, error) bool
	// LogFailure logs a failure, and reports whether it counts as one. It may be nil.
	LogFailure func(context.Context, error) bool
	// Ignored returns files in folders that Read ignores because they are no documents. It may be nil.
	Ignored func() []string
	Metrics *Metrics
	Log     logr.Logger

	// mutex guards the last attempt: the digest of its files, its error, and the last failure that was reported.
	mutex   sync.Mutex
	tried   Digest
	outcome error
	problem string
}

// Check compiles the current files without activating them. It fails if they are unreadable or invalid.
func (r *Reloader[T]) Check(ctx context.Context) (compiled T, err error) {
	files, err := r.Read(ctx)
	if err != nil {
		return compiled, err
	}
	if compiled, err = r.compile(ctx, files); err != nil {
		profile.LogPanic(r.Log, err)
	}
	return compiled, err
}

// Open activates the current files at the start of a server. Its failures are only returned, because nothing is active.
func (r *Reloader[T]) Open(ctx context.Context) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	files, err := r.Read(ctx)
	if err != nil {
		return err
	}
	r.tried = DigestOf(files)
	if err := r.activate(ctx, files); err != nil {
		profile.LogPanic(r.Log, err)
		return err
	}
	return nil
}

// Load activates the current files if they have changed, or if the last failure may be over. Otherwise it returns the
// outcome of the last attempt.
func (r *Reloader[T]) Load(ctx context.Context) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	files, err := r.Read(ctx)
	if err != nil {
		return r.failed(ctx, err)
	}
	sum := DigestOf(files)
	if sum == r.tried && (r.MayRetry == nil || !r.MayRetry(ctx, r.outcome)) {
		if r.outcome == nil {
			r.problem = ""
			r.Metrics.Failed.Set(0)
		}
		return r.outcome
	}
	err = r.activate(ctx, files)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.tried, r.outcome = sum, err; err != nil {
		return r.failed(ctx, err)
	}
	return nil
}

func (r *Reloader[T]) compile(ctx context.Context, files []source.File) (T, error) {
	return profile.Guard(files, func(files []source.File) (T, error) { return r.Compile(ctx, files) })
}

// activate compiles and activates files, and reports the success.
func (r *Reloader[T]) activate(ctx context.Context, files []source.File) error {
	compiled, err := r.compile(ctx, files)
	if err == nil {
		err = r.Activate(ctx, compiled)
	}
	if err != nil {
		return err
	}
	r.problem = ""
	r.Metrics.Failed.Set(0)
	r.Metrics.Attempts.WithLabelValues("success").Inc()
	if r.Ignored != nil {
		if left := r.Ignored(); len(left) > 0 {
			r.Log.Info("Ignored files without apiVersion and kind", "files", left)
		}
	}
	return nil
}

// failed counts and logs a failure if its text differs from the one before.
func (r *Reloader[T]) failed(ctx context.Context, err error) error {
	if err.Error() == r.problem {
		return err
	}
	r.problem = err.Error()
	profile.LogPanic(r.Log, err)
	counts := true
	if r.LogFailure != nil {
		counts = r.LogFailure(ctx, err)
	} else {
		r.Log.Error(err, "Reloading the profiles failed; the previous ones stay active")
	}
	if counts {
		r.Metrics.Attempts.WithLabelValues("failure").Inc()
		r.Metrics.Failed.Set(1)
	}
	return err
}

// LogActive logs the new active documents and their warnings, and counts them. hash identifies all of them together.
func (r *Reloader[T]) LogActive(summaries []string, hash string, warnings source.Findings, keysAndValues ...any) {
	r.Log.Info("Activated profiles", append([]any{"profiles", summaries, "hash", hash}, keysAndValues...)...)
	for _, warning := range warnings {
		serving.Warn(r.Log, "A profile has a warning", "warning", warning.Error())
	}
	r.Metrics.info.Reset()
	for _, summary := range summaries { // name@hash
		name, own, _ := strings.Cut(summary, "@")
		r.Metrics.info.WithLabelValues(name, own).Set(1)
	}
	r.Metrics.policy.Reset()
	r.Metrics.policy.WithLabelValues(hash).Set(1)
}

// Metrics report failed attempts, and the active documents of servers with NewMetrics. Label values are names in documents.
type Metrics struct {
	// Attempts counts activations by result, and Failed is 1 after a failure.
	Attempts     *prometheus.CounterVec
	Failed       prometheus.Gauge
	info, policy *prometheus.GaugeVec
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
		Attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_" + server + "_profile_reloads_total",
			Help: "Attempts to activate changed profiles, by result: success or failure.",
		}, []string{"result"}),
		Failed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_" + server + "_profile_reload_failed",
			Help: "1 if the newest profiles are invalid or rejected, and earlier ones stay active.",
		}),
	}
	if registry != nil {
		registry.MustRegister(m.info, m.policy, m.Attempts, m.Failed)
	}
	m.Attempts.WithLabelValues("success")
	m.Attempts.WithLabelValues("failure")
	return m
}
