// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

	// mutex guards seen, the kinds used as labels.
	mutex sync.Mutex
	seen  map[string]interpreter.Kind
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
		inFlight: serving.NewGauge(registry, "graft_interpreter_requests_in_flight", "Requests in progress or queued."),
		refused: serving.NewCounter(registry, "graft_interpreter_requests_refused_total",
			"Requests rejected because of overload: the queue was full, or the wait too long."),
		panics: serving.NewCounter(registry, "graft_interpreter_panics_total",
			"Panics of the server itself; panics of rules are answers with code 500."),
		guard: serving.NewMetrics(registry, "resource-interpreter"),
		knows: knows, seen: map[string]interpreter.Kind{},
	}
	registry.MustRegister(m.requests, m.duration, m.bytes)
	return m
}

// answered counts an answer. Its label values do not refer to the message.
func (m *Metrics) answered(a api.Answered) {
	operation, kind := string(a.Operation), other
	if !a.Operation.Known() {
		operation = other
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.knows(a.Kind) {
		kind = strings.Clone(schema.GroupKind{Group: a.Kind.Group, Kind: a.Kind.Kind}.String())
		if _, seen := m.seen[kind]; !seen {
			m.seen[kind] = interpreter.Kind{Group: strings.Clone(a.Kind.Group), Version: strings.Clone(a.Kind.Version), Kind: strings.Clone(a.Kind.Kind)}
		}
	}
	m.requests.WithLabelValues(cmp.Or(a.Dialect, other), operation, kind, strconv.Itoa(a.Code)).Inc()
	m.duration.WithLabelValues(operation, kind).Observe(a.Took.Seconds())
	m.bytes.WithLabelValues(operation).Observe(float64(a.Bytes))
}

// Forget drops kinds that are no longer known, which bounds the number of time series.
func (m *Metrics) Forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for label, k := range m.seen {
		if !m.knows(k) {
			delete(m.seen, label)
			m.requests.DeletePartialMatch(prometheus.Labels{"kind": label})
			m.duration.DeletePartialMatch(prometheus.Labels{"kind": label})
		}
	}
}
