// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/wire"
)

// Metrics count what Karmada asks. The values of their labels are names of the program, and kinds of profiles: nothing that a caller sends becomes one.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.HistogramVec
	inFlight prometheus.Gauge
	bodies   prometheus.Gauge
	refused  prometheus.Counter
	panics   prometheus.Counter
	open     prometheus.Gauge
	knows    func(interpreter.Kind) bool

	// mutex guards seen, the names of kinds that are labels, and counted.
	mutex   sync.RWMutex
	seen    map[string]interpreter.Kind
	counted map[question]*counters
}

// manyCounted is how many questions are told apart before their counters are looked for anew: callers can ask for any version of a kind.
const manyCounted = 1 << 12

// question is what answers have in common that are counted together.
type question struct {
	dialect   string
	operation interpreter.Operation
	kind      interpreter.Kind
	code      int
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
		bodies: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_bodies_in_flight_bytes",
			Help: "Size of the bodies that are worked on, without those below 64 KiB.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_requests_refused_total",
			Help: "Questions that have waited in vain, or found too many waiting, since there was too much to do.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "graft_interpreter_panics_total",
			Help: "Questions on which the server itself panicked; panics of rules are answers with code 500.",
		}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "graft_interpreter_connections",
			Help: "Connections that are open.",
		}),
		knows: knows, seen: map[string]interpreter.Kind{}, counted: map[question]*counters{},
	}
	registry.MustRegister(m.requests, m.duration, m.bytes, m.inFlight, m.bodies, m.refused, m.panics, m.open)
	return m
}

func (m *Metrics) began() { m.inFlight.Inc() }

func (m *Metrics) ended() { m.inFlight.Dec() }

// answered counts an answer.
func (m *Metrics) answered(a wire.Answered) {
	of := question{a.Dialect, a.Operation, a.Kind, a.Code}
	m.mutex.RLock()
	by := m.counted[of]
	m.mutex.RUnlock()
	if by == nil {
		by = m.countersOf(of)
	}
	by.requests.Inc()
	by.duration.Observe(a.Took.Seconds())
	by.bytes.Observe(float64(a.Bytes))
}

// countersOf finds counters by their labels, and remembers those of kinds that are known.
func (m *Metrics) countersOf(of question) *counters {
	dialect, operation, kind := of.dialect, string(of.operation), other
	if dialect == "" {
		dialect = other
	}
	if !of.operation.Known() {
		operation = other
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	known := m.knows(of.kind)
	if known {
		kind = label(of.kind)
		m.seen[kind] = of.kind
	}
	by := &counters{
		m.requests.WithLabelValues(dialect, operation, kind, strconv.Itoa(of.code)), m.duration.WithLabelValues(operation, kind), m.bytes.WithLabelValues(operation),
	}
	if known {
		if len(m.counted) >= manyCounted {
			clear(m.counted)
		}
		m.counted[of] = by
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

// connection counts those that are open.
func (m *Metrics) connection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		m.open.Inc()
	case http.StateClosed, http.StateHijacked:
		m.open.Dec()
	case http.StateActive, http.StateIdle:
	}
}
