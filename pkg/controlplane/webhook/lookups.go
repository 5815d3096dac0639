// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// Source is the source of facts of a cluster.
type Source interface {
	facts.Source
	facts.Refresher
}

// CountedSource counts the lookups of a source by result.
type CountedSource struct {
	Source
	found, absent, failed prometheus.Counter
	duration              prometheus.Observer
}

// NewCountedSource creates and registers the metrics of lookups.
func NewCountedSource(registry prometheus.Registerer, s Source) *CountedSource {
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graft_lookups_total",
		Help: "Lookups of profiles by what became of them: found, absent (no such object, or no such key) or failed.",
	}, []string{"result"})
	duration := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "graft_lookup_duration_seconds",
		Help:    "Time that a lookup took. What is followed takes microseconds; what the API server is asked for, milliseconds.",
		Buckets: []float64{.00001, .0001, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	})
	registry.MustRegister(results, duration)
	return &CountedSource{
		Source: s, duration: duration,
		found: results.WithLabelValues("found"), absent: results.WithLabelValues("absent"), failed: results.WithLabelValues("failed"),
	}
}

// With returns a source that counts the lookups of other in the same metrics.
func (s *CountedSource) With(other Source) *CountedSource {
	counted := *s
	counted.Source = other
	return &counted
}

// Lookup implements facts.Source.
func (s *CountedSource) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.Found, error) {
	started := time.Now()
	found, err := s.Source.Lookup(ctx, namespace, l)
	s.duration.Observe(time.Since(started).Seconds())
	switch {
	case err == nil && found != nil:
		s.found.Inc()
	case err == nil, errors.Is(err, facts.ErrNotFound):
		s.absent.Inc()
	default:
		s.failed.Inc()
	}
	return found, err
}
