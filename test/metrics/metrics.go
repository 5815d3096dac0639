// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package metrics reads, for tests, what a registry of Prometheus has. Enter at Sum.
package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Sum adds up the counters and gauges of a name whose labels include those given.
func Sum(t *testing.T, registry prometheus.Gatherer, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			missing := len(labels)
			for _, pair := range metric.GetLabel() {
				if want, asked := labels[pair.GetName()]; asked && want == pair.GetValue() {
					missing--
				}
			}
			if missing == 0 {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}
