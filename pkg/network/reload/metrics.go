// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
)

// Metrics describes the active configuration and its problems. Label values are names in profiles.
type Metrics struct {
	*watch.Metrics
	stranded *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them, unless there is no registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{
		Metrics: watch.NewMetrics(registry, "network"),
		stranded: promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_stranded_allocations",
			Help: "Allocations of a pool that prevent the newest documents from becoming active.",
		}, []string{"pool"}),
	}
}

// strand reports the allocations that prevent an activation, if there are some.
func (m *Metrics) strand(by *Stranded) {
	m.stranded.Reset()
	if by == nil {
		return
	}
	for pool, count := range by.Pools {
		m.stranded.WithLabelValues(pool).Set(float64(count))
	}
}
