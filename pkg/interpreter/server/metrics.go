// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Metrics count Karmada's requests. Label values are names of the program and kinds of profiles, never input of
// a caller.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refused  prometheus.Counter
	panics   prometheus.Counter
	guard    *serving.Metrics
	knows    func(interpreter.Kind) bool

	// mutex guards seen, the kinds used as labels, and counted.
	mutex   sync.RWMutex
	seen    map[string]interpreter.Kind
	counted map[question]*counters
}

// question identifies the answers that share a time series. It has no version, because callers can send any.
type question struct {
	dialect     string
	operation   interpreter.Operation
	group, kind string
	code        int
}

// counters caches the time series for a question, without hashing labels again.
type counters struct {
	requests        prometheus.Counter
	duration, bytes prometheus.Observer
}

// other is the label for unknown values.
const other = "other"

// NewMetrics creates and registers the metrics. Kinds for which knows returns false get the label "other".
func NewMetrics(registry prometheus.Registerer, knows func(interpreter.Kind) bool) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_interpreter_requests_total",
			Help: "Requests by dialect, operation, kind and code: 200, or the code of the failure (not the HTTP status).",
		}, []string{"dialect", "operation", "kind", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_interpreter_request_duration_seconds",
			Help: "Time from the admission of a request to the end of its answer.",
			// Small objects take tens of microseconds. No caller waits longer than 30 seconds.
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 1, 2.5, 10, 30},
		}, []string{"operation", "kind"}),
		bytes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "graft_interpreter_request_bytes",
			Help:    "Size of request bodies.",
			Buckets: []float64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20},
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_requests_in_flight",
			Help: "Requests in progress or queued.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_requests_refused_total",
			Help: "Requests rejected because of overload: the queue was full, or the wait too long.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_panics_total",
			Help: "Panics of the server itself; panics of rules are answers with code 500.",
		}),
		guard: serving.NewMetrics(registry, "resource-interpreter"),
		knows: knows, seen: map[string]interpreter.Kind{}, counted: map[question]*counters{},
	}
	registry.MustRegister(m.requests, m.duration, m.bytes, m.inFlight, m.refused, m.panics)
	return m
}

func (m *Metrics) began() { m.inFlight.Inc() }

func (m *Metrics) ended() { m.inFlight.Dec() }

// answered counts an answer.
func (m *Metrics) answered(a api.Answered) {
	by := m.remembered(a)
	if by == nil {
		by = m.countersOf(a)
	}
	by.requests.Inc()
	by.duration.Observe(a.Took.Seconds())
	by.bytes.Observe(float64(a.Bytes))
}

// questionOf returns the key of an answer's time series.
func questionOf(a api.Answered) question {
	return question{a.Dialect, a.Operation, a.Kind.Group, a.Kind.Kind, a.Code}
}

// remembered returns the cached counters for a known kind, or nil.
func (m *Metrics) remembered(a api.Answered) *counters {
	if !m.knows(a.Kind) {
		return nil
	}
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	return m.counted[questionOf(a)]
}

// countersOf returns the counters by their labels, and caches those of known kinds under names that do not
// refer to the message.
func (m *Metrics) countersOf(a api.Answered) *counters {
	dialect, operation, kind := a.Dialect, string(a.Operation), other
	if dialect == "" {
		dialect = other
	}
	if !a.Operation.Known() {
		operation = other
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	known := m.knows(a.Kind)
	if known {
		a.Kind = interpreter.Kind{Group: strings.Clone(a.Kind.Group), Version: strings.Clone(a.Kind.Version), Kind: strings.Clone(a.Kind.Kind)}
		kind = label(a.Kind)
		m.seen[kind] = a.Kind
	}
	by := &counters{
		m.requests.WithLabelValues(dialect, operation, kind, strconv.Itoa(a.Code)), m.duration.WithLabelValues(operation, kind), m.bytes.WithLabelValues(operation),
	}
	if known {
		m.counted[questionOf(a)] = by
	}
	return by
}

// label returns the name of a kind without its version.
func label(k interpreter.Kind) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// Forget drops kinds that are no longer known, which bounds the number of time series.
func (m *Metrics) Forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	clear(m.counted)
	for label, k := range m.seen {
		if !m.knows(k) {
			delete(m.seen, label)
			m.requests.DeletePartialMatch(prometheus.Labels{"kind": label})
			m.duration.DeletePartialMatch(prometheus.Labels{"kind": label})
		}
	}
}
