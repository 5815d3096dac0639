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

// Metrics tell how the certificate is.
type Metrics struct {
	failing  prometheus.Gauge
	failures prometheus.Counter
}

// NewMetrics makes the metrics of a source and registers them.
func NewMetrics(registry prometheus.Registerer, s Source) *Metrics {
	m := &Metrics{
		failing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_certificate_failed",
			Help: "1 while the certificate cannot be looked after; the one before is served.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_certificate_failures_total",
			Help: "Attempts to look after the certificate that failed.",
		}),
	}
	registry.MustRegister(m.failing, m.failures, ends{s})
	return m
}

// Keep looks after a source until the context ends. A failure is logged when it is another one than before.
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
				log.Error(err, "Looking after the certificate failed; the one before is served")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ends tells when a certificate does.
type ends struct{ source Source }

var descEnds = prometheus.NewDesc("graft_interpreter_certificate_expiry_timestamp_seconds",
	"When the certificate that is served ends (serving), and when its authority does (authority).", []string{"certificate"}, nil)

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
