// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Count returns the sum of the counters and gauges with a name and at least the given label values.
func Count(t testing.TB, gatherer prometheus.Gatherer, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			found := map[string]string{}
			for _, pair := range metric.GetLabel() {
				found[pair.GetName()] = pair.GetValue()
			}
			with := maps.Clone(found)
			maps.Copy(with, labels)
			if maps.Equal(with, found) {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}
