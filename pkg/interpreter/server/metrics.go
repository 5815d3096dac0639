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

// Metrics count what Karmada asks. The values of their labels are names of the program, and kinds of profiles: nothing that a caller sends becomes one.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refused  prometheus.Counter
	panics   prometheus.Counter
	guard    *serving.Metrics
	knows    func(interpreter.Kind) bool

	// mutex guards seen, the names of kinds that are labels, and counted.
	mutex   sync.RWMutex
	seen    map[string]interpreter.Kind
	counted map[question]*counters
}

// question is what answers have in common that are counted together: that of their labels, of which only kinds of profiles have any. The version of the
// kind, of which a caller can have any, is none of it.
type question struct {
	dialect     string
	operation   interpreter.Operation
	group, kind string
	code        int
}

// counters are what answers are counted by, found without hashing their labels again.
type counters struct {
	requests        prometheus.Counter
	duration, bytes prometheus.Observer
}

// other is the label of what is not known.
const other = "other"

// NewMetrics makes the metrics and registers them. Kinds that it does not know have no name in them.
func NewMetrics(registry prometheus.Registerer, knows func(interpreter.Kind) bool) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_interpreter_requests_total",
			Help: "Questions by dialect, operation, kind, and code of the answer: 200, or that of the failure, whatever the status of HTTP was.",
		}, []string{"dialect", "operation", "kind", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_interpreter_request_duration_seconds",
			Help: "Time from when a question was let in to the end of its answer.",
			// An answer takes some ten microseconds for a small object; nobody waits for longer than 30 seconds.
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 1, 2.5, 10, 30},
		}, []string{"operation", "kind"}),
		bytes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "graft_interpreter_request_bytes",
			Help:    "Size of the bodies of questions.",
			Buckets: []float64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20},
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_requests_in_flight",
			Help: "Questions that are being answered, or wait for that.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_requests_refused_total",
			Help: "Questions that have waited in vain, or found too many waiting, since there was too much to do.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_panics_total",
			Help: "Questions on which the server itself panicked; panics of rules are answers with code 500.",
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

// questionOf is what an answer has in common with others.
func questionOf(a api.Answered) question {
	return question{a.Dialect, a.Operation, a.Kind.Group, a.Kind.Kind, a.Code}
}

// remembered are the counters of an answer about a kind that is known, nil where they have not been looked for yet.
func (m *Metrics) remembered(a api.Answered) *counters {
	if !m.knows(a.Kind) {
		return nil
	}
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	return m.counted[questionOf(a)]
}

// countersOf finds counters by their labels, and remembers those of kinds that are known, by names that are not parts of a message.
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

// label is the name of a kind without the version.
func label(k interpreter.Kind) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// Forget drops the kinds that are not known any more, so that there are never more than profiles have.
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
