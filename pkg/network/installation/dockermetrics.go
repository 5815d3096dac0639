// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// dockerMetrics count kernel calls and error answers to Docker.
type dockerMetrics struct {
	errors   *prometheus.CounterVec
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	removed  *prometheus.CounterVec
}

func newDockerMetrics(registry prometheus.Registerer) *dockerMetrics {
	auto := promauto.With(registry)
	m := &dockerMetrics{
		errors: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_docker_errors_total",
			Help: "Error answers to Docker (field Err, mostly with status 200), by fault: caller or server.",
		}, []string{"endpoint", "fault"}),
		calls: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_kernel_calls_total",
			Help: "Kernel calls, by kind of link and result: done, impossible, unavailable or failed.",
		}, []string{"call", "kind", "result"}),
		duration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_network_kernel_call_duration_seconds",
			Help: "Duration of kernel calls.",
			// Creating a link takes one or two milliseconds. Removing one waits for other work of the kernel.
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"call"}),
		removed: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_docker_stale_removed_total",
			Help: "Unused objects that were removed, by kind: network, endpoint or link.",
		}, []string{"kind"}),
	}
	for _, what := range []string{"network", "endpoint", "link"} {
		m.removed.WithLabelValues(what)
	}
	return m
}

// failed counts an error answer.
func (m *dockerMetrics) failed(method string, ours bool) {
	fault := "caller"
	if ours {
		fault = "server"
	}
	m.errors.WithLabelValues(cmp.Or(method, "other"), fault).Inc()
}

// observe records a call. Unknown kinds in requests are counted as "other", to limit the label's values.
func (m *dockerMetrics) observe(call string, kind link.Kind, took time.Duration, err error) {
	if kind != "" && !slices.Contains(link.Kinds(), kind) {
		kind = "other"
	}
	result := "done"
	switch {
	case err == nil:
	case errors.Is(err, link.ErrImpossible):
		result = "impossible"
	case errors.Is(err, network.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		result = "unavailable"
	default:
		result = "failed"
	}
	m.calls.WithLabelValues(call, string(kind), result).Inc()
	m.duration.WithLabelValues(call).Observe(took.Seconds())
}

// dockerCollector reports the current Docker objects on each scrape.
type dockerCollector struct {
	usage func(context.Context) (driver.Usage, error)
}

var (
	descNetworks  = prometheus.NewDesc("graft_network_docker_networks", "Docker's networks on this machine.", nil, nil)
	descEndpoints = prometheus.NewDesc("graft_network_docker_endpoints",
		"Endpoints of Docker's networks on this machine: in a container (joined), or not in one (free).", []string{"state"}, nil)
)

// usageTimeout limits the reading of rows that are not in memory. Prometheus waits ten seconds by default.
const usageTimeout = 2 * time.Second

// Describe implements prometheus.Collector. It sends nothing, because there may be no metrics.
func (c dockerCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c dockerCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), usageTimeout)
	defer cancel()
	usage, err := c.usage(ctx)
	if err != nil {
		return // no metrics without data; /readyz reports the reason
	}
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	gauge(descNetworks, usage.Networks)
	gauge(descEndpoints, usage.Joined, "joined")
	gauge(descEndpoints, usage.Endpoints-usage.Joined, "free")
}
