// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics measure the refreshes of a source.
type Metrics struct {
	failing  prometheus.Gauge
	failures prometheus.Counter
}

// NewMetrics creates and registers the metrics of a source.
func NewMetrics(registry prometheus.Registerer, s Source) *Metrics {
	m := &Metrics{
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_certificate_failed",
			Help: "1 if the last refresh of the certificate failed; the previous certificate stays in use.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_certificate_failures_total",
			Help: "Failed refreshes of the certificate.",
		}),
	}
	registry.MustRegister(m.failing, m.failures, ends{s})
	return m
}

// Keep refreshes a source periodically until the context ends. It logs a failure if its text differs from the
// one before.
func Keep(ctx context.Context, s Source, every time.Duration, m *Metrics, log logr.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	problem := ""
	for {
		err := s.Refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			problem = ""
			m.failing.Set(0)
		default:
			m.failing.Set(1)
			m.failures.Inc()
			if err.Error() != problem {
				problem = err.Error()
				log.Error(err, "Refreshing the certificate failed; the previous certificate stays in use")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ends is a collector for the expiry times.
type ends struct{ source Source }

var descEnds = prometheus.NewDesc("graft_interpreter_certificate_expiry_timestamp_seconds",
	"Expiry time of the certificate in use (serving) and of its authority (authority).", []string{"certificate"}, nil)

// Describe implements prometheus.Collector.
func (e ends) Describe(to chan<- *prometheus.Desc) { to <- descEnds }

// Collect implements prometheus.Collector.
func (e ends) Collect(to chan<- prometheus.Metric) {
	held := e.source.Held()
	if held == nil {
		return
	}
	for name, end := range map[string]time.Time{"serving": held.Ends, "authority": held.AuthorityEnds} {
		if !end.IsZero() {
			to <- prometheus.MustNewConstMetric(descEnds, prometheus.GaugeValue, float64(end.Unix()), name)
		}
	}
}
